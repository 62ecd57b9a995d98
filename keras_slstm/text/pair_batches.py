"""Batches of pairs of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_slstm.text.batches import Batches, check_lengths
from keras_slstm.text.contextual_vectors import ContextualVectors
from keras_slstm.text.text_vectorizer import pad


class PairBatches(Batches):
    """Batches of pairs of sentences of similar length; see `Batches`.

    The length of a pair is the length of its longer sentence. The inputs of a batch are one array, `(batch, 2, time)`
    int32 with 0 as padding; with contextual vectors, a dict of this array as `words` and of `contextual`,
    `(batch, 2, time, features)` float32. Labels and weights follow.

    Args:
        first: Word ids of the first sentence of each pair, a non-empty list.
        second: The same for the second sentence.
        labels: An integer for each pair, or a row of numbers for each pair; or None (prediction).
        sample_weight: A weight for each pair, or None.
        batch_size, shuffle, seed, multiple_of: See `Batches`.
        contextual: The `ContextualVectors` of the sentences, first and second of each pair in turn, or None.

    Raises:
        ValueError: If lengths differ, there is no pair, a sentence has no word, or an argument is out of range.

    Example:

    >>> batches = PairBatches([[2, 3], [4]], [[5], [6]], labels=[0, 1], batch_size=2, multiple_of=2, shuffle=False)
    >>> batches[0]
    (array([[[2, 3],
            [5, 0]],
    <BLANKLINE>
           [[4, 0],
            [6, 0]]], dtype=int32), array([0, 1], dtype=int32))
    """

    def __init__(
        self,
        first: Sequence[Sequence[int]],
        second: Sequence[Sequence[int]],
        labels: Sequence[int] | np.ndarray | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int = 0,
        multiple_of: int = 8,
        contextual: ContextualVectors | None = None,
        **kwargs: Any,
    ):
        check_lengths(len(first), second=second)
        # `Batches` refuses the length 0, which stands for a pair with an empty sentence.
        lengths = [max(len(a), len(b)) if a and b else 0 for a, b in zip(first, second)]
        super().__init__(lengths, batch_size, shuffle, seed, multiple_of, **kwargs)
        check_lengths(len(first), labels=labels, sample_weight=sample_weight)
        if contextual is not None:
            check_lengths(2 * len(first), contextual=contextual)
        self.first = first
        self.second = second
        self.contextual = contextual
        self.labels = None if labels is None else _compact(np.asarray(labels))
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight, np.float32)

    def collate(self, chosen: np.ndarray) -> tuple[Any, ...]:
        ids = pad([sentence for i in chosen for sentence in (self.first[i], self.second[i])], self.multiple_of)
        pairs = ids.reshape(len(chosen), 2, -1)
        batch: tuple[Any, ...] = (pairs,)
        if self.contextual is not None:
            vectors = self.contextual.pad(np.ravel(2 * chosen[:, None] + [0, 1]), ids.shape[1])
            batch = ({"words": pairs, "contextual": vectors.reshape(*pairs.shape, -1)},)
        if self.labels is not None:
            batch += (self.labels[chosen],)
            if self.sample_weight is not None:
                batch += (self.sample_weight[chosen],)
        return batch


def _compact(labels: np.ndarray) -> np.ndarray:
    return labels.astype(np.int32 if labels.dtype.kind in "iu" else np.float32)
