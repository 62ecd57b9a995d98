"""Vectors of words in context, computed by a function of the user when a batch needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Maps the tokens of sentences to arrays, one for each sentence, with a row for each token.
ContextualFunction = Callable[[list[list[str]]], Sequence[Any]]


class ContextualVectors:
    """Contextual vectors of sentences, computed batch by batch, as those of a whole corpus can exceed the memory.

    Args:
        function: Maps a list of sentences, each a non-empty list of tokens, to an array `(tokens, features)` for each.
        sentences: The tokens of each sentence. Sentences without tokens are not given to the function and get zeros.
        features: Number of values of a vector.
    """

    def __init__(self, function: ContextualFunction, sentences: Sequence[Sequence[str]], features: int):
        self.function = function
        self.sentences = sentences
        self.features = features

    def __len__(self) -> int:
        return len(self.sentences)

    def pad(self, chosen: Sequence[int] | np.ndarray, time: int) -> np.ndarray:
        """The vectors of the sentences with these numbers, `(len(chosen), time, features)` float32, 0 as padding.

        Raises:
            ValueError: If the function returns arrays of a wrong number or shape.
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
    """Call the function on sentences and check its result; `features` is the expected width, if known.

    Raises:
        ValueError: If the function returns arrays of a wrong number or shape.
    """
    if not sentences:
        return []
    found = [np.asarray(vectors) for vectors in function(sentences)]
    if len(found) != len(sentences):
        raise ValueError(f"`contextual` was given {len(sentences)} sentences, but returned {len(found)} arrays.")
    for tokens, vectors in zip(sentences, found):
        if vectors.ndim != 2 or len(vectors) != len(tokens) or features not in (None, vectors.shape[1]):
            wanted = f"({len(tokens)}, {'features' if features is None else features})"
            raise ValueError(
                f"`contextual` has to return an array of shape {wanted} for the {len(tokens)} tokens {tokens[:8]}, "
                f"but returned {vectors.shape}."
            )
    return found
