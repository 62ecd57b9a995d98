"""Batches of sentences with a label per word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_slstm.text.batches import Batches, Sentences, check_words
from keras_slstm.text.contextual_vectors import ContextualVectors
from keras_slstm.text.text_vectorizer import pad

UNKNOWN_LABEL = -1


class TokenBatches(Batches):
    """Batches of sentences of similar length with a label per word; see `Batches`.

    The inputs of a batch are the dict that `Sentences.pad` returns. The labels are `(batch, time)` int32 with -1 as
    padding.

    Args:
        ids, characters, contextual: See `Sentences`. A sentence has at least one word.
        labels: A list of integers for each sentence, one per word, -1 where the label is unknown. None for prediction.
        sample_weight: A weight for each sentence, or None.
        **options: Further arguments of `Batches`.

    Raises:
        ValueError: If lengths differ, there are no sentences, or an argument is out of range.

    Example:

    >>> batches = TokenBatches([[2, 3], [4]], labels=[[0, 1], [2]], batch_size=2, multiple_of=2, shuffle=False)
    >>> batches[0]
    ({'words': array([[2, 3],
           [4, 0]], dtype=int32)}, array([[ 0,  1],
           [ 2, -1]], dtype=int32))
    """

    def __init__(
        self,
        ids: Sequence[Sequence[int]],
        labels: Sequence[Sequence[int]] | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        *,
        characters: Sequence[Sequence[Sequence[int]]] | None = None,
        contextual: ContextualVectors | None = None,
        **options: Any,
    ):
        super().__init__([len(row) for row in ids], labels, sample_weight, **options)
        check_words(ids, labels=labels)
        self.sentences = Sentences(ids, characters, contextual)

    def inputs(self, chosen: np.ndarray) -> dict[str, np.ndarray]:
        return self.sentences.pad(chosen, self.padded_length(chosen))

    def targets(self, chosen: np.ndarray) -> np.ndarray:
        return pad([self.labels[i] for i in chosen], self.padded_length(chosen), UNKNOWN_LABEL)
