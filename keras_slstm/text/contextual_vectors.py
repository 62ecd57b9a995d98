"""Contextual word vectors, computed by a user's function when a batch needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Maps tokenised sentences to arrays: one per sentence, with one row per token.
ContextualFunction = Callable[[list[list[str]]], Sequence[Any]]


class ContextualVectors:
    """Contextual word vectors, computed batch by batch because those of a whole corpus may not fit in memory.

    Args:
        function: Maps a list of sentences, each a non-empty list of tokens, to one array `(tokens, features)` per
            sentence.
        sentences: The tokens of each sentence. Empty sentences are not passed to the function and get zeros.
        features: Size of a vector.
    """

    def __init__(self, function: ContextualFunction, sentences: Sequence[Sequence[str]], features: int):
        self.function = function
        self.sentences = sentences
        self.features = features

    def __len__(self) -> int:
        return len(self.sentences)

    def pad(self, chosen: Sequence[int] | np.ndarray, time: int) -> np.ndarray:
        """The vectors of these sentences, `(len(chosen), time, features)` float32, padded with 0.

        Raises:
            ValueError: If the function returns the wrong number of arrays or a wrong shape.
        """
        padded = np.zeros((len(chosen), time, self.features), np.float32)
        asked = [row for row, number in enumerate(chosen) if self.sentences[number]]
        sentences = [list(self.sentences[chosen[row]]) for row in asked]
        for row, vectors in zip(asked, call_contextual(self.function, sentences, self.features)):
            padded[row, : len(vectors)] = vectors
        return padded


def call_contextual(
    function: ContextualFunction, sentences: list[list[str]], features: int | None = None
) -> list[np.ndarray]:
    """Call the function on sentences and check its result; `features` is the expected size, if known.

    Raises:
        ValueError: If the function returns the wrong number of arrays or a wrong shape.
    """
    if not sentences:
        return []
    found = [np.asarray(vectors) for vectors in function(sentences)]
    if len(found) != len(sentences):
        raise ValueError(
            f"`contextual` must return one array per sentence ({len(sentences)}), but returned {len(found)}."
        )
    for tokens, vectors in zip(sentences, found):
        if vectors.ndim != 2 or len(vectors) != len(tokens) or features not in (None, vectors.shape[1]):
            wanted = f"({len(tokens)}, {'features' if features is None else features})"
            raise ValueError(
                f"`contextual` must return an array of shape {wanted} for the {len(tokens)} tokens {tokens[:8]}, "
                f"but returned {vectors.shape}."
            )
    return found
