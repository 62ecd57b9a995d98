"""Batches of pairs of sequences of similar length: source and target of a translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_slstm.text.batches import Batches, check_lengths
from keras_slstm.text.text_vectorizer import pad
from keras_slstm.text.token_batches import UNKNOWN_LABEL


class TranslationBatches(Batches):
    """Batches of source sequences and of the target sequences that a model learns to write; see `Batches`.

    The inputs of a batch are a dict of `source` and, in training, `target`, which holds the ids that precede each
    position, both `(batch, time)` int32 with 0 as padding. Labels, the ids to be written at each position,
    `(batch, time)` int32 with -1 as padding, and weights follow.

    Pairs are sorted by the length of the longer sequence, and both are padded to that length, because a model is
    compiled once for each length.

    Args:
        sources: Ids, a non-empty list for each sentence.
        targets: Ids of start, text and end for each sentence; or None (prediction).
        sample_weight: A weight for each pair, or None.
        **options: Further arguments of `Batches`.

    Raises:
        ValueError: If there are not as many targets as sources, there is no pair, a source is empty, a target has
            less than two ids, or an argument is out of range.

    Example:

    >>> batches = TranslationBatches([[5, 6, 2]], [[1, 8, 2]], multiple_of=1)
    >>> inputs, labels = batches[0]
    >>> inputs["source"].tolist(), inputs["target"].tolist(), labels.tolist()
    ([[5, 6, 2]], [[1, 8, 0]], [[8, 2, -1]])
    """

    def __init__(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]] | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        **options: Any,
    ):
        check_lengths(len(sources), targets=targets, sample_weight=sample_weight)
        for position, ids in enumerate(sources):
            if not len(ids):
                raise ValueError(f"Source {position} is empty.")
        for position, ids in enumerate(targets or ()):
            if len(ids) < 2:
                raise ValueError(f"Target {position} must begin with a start and end with an end, but is {list(ids)}.")
        lengths = [len(ids) for ids in sources]
        if targets is not None:
            lengths = [max(length, len(ids) - 1) for length, ids in zip(lengths, targets)]
        super().__init__(lengths, targets, sample_weight, **options)
        self.sources = sources

    def inputs(self, chosen: np.ndarray) -> dict[str, np.ndarray]:
        length = self.padded_length(chosen)
        inputs = {"source": pad([self.sources[i] for i in chosen], length)}
        if self.labels is not None:
            inputs["target"] = pad([self.labels[i][:-1] for i in chosen], length)
        return inputs

    def targets(self, chosen: np.ndarray) -> np.ndarray:
        return pad([self.labels[i][1:] for i in chosen], self.padded_length(chosen), UNKNOWN_LABEL)
