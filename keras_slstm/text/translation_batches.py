"""Batches of source and target sequences for translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_slstm.text.batches import Batches, check_lengths
from keras_slstm.text.text_vectorizer import pad
from keras_slstm.text.token_batches import UNKNOWN_LABEL


class TranslationBatches(Batches):
    """Batches of source and target sequences of similar length; see `Batches`.

    The inputs of a batch are a dict of `source` and, in training, `target` (the target shifted right, for teacher
    forcing), both `(batch, time)` int32 with 0 as padding. The labels are the ids to predict at each position, `(batch,
    time)` int32 with -1 as padding.

    Pairs are sorted by the length of the longer sequence, and both are padded to that length, because a model is
    compiled once for each length.

    Args:
        sources: A non-empty list of ids for each sentence.
        targets: The ids of start, text and end for each sentence. None for prediction.
        sample_weight: A weight for each pair, or None.
        **options: Further arguments of `Batches`.

    Raises:
        ValueError: If the numbers of sources and targets differ, there are no pairs, a source is empty, a target has
            fewer than two ids, or an argument is out of range.

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
                raise ValueError(
                    f"Target {position} must begin with the start id and end with the end id, but is {list(ids)}."
                )
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
