"""Batches of sentences whose words have labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_slstm.text.batches import Batches, check_lengths
from keras_slstm.text.characters import WIDTH_MULTIPLE, pad_characters
from keras_slstm.text.text_vectorizer import pad, round_up

UNKNOWN_LABEL = -1


class TokenBatches(Batches):
    """Batches of sentences of similar length with a label for each word; see `Batches`.

    The inputs of a batch are a dict of `words`, `(batch, time)`, and, if given, `characters`, `(batch, time, width)`,
    both int32 with 0 as padding. Labels, `(batch, time)` int32 with -1 as padding, and weights follow. The width is the
    same in all batches.

    Args:
        ids: Word ids, a non-empty list for each sentence.
        characters: Character ids, a list for each word of each sentence, or None.
        labels: A list of integers for each sentence, one a word, -1 where the label is unknown; or None (prediction).
        sample_weight: A weight for each sentence, or None.
        batch_size, shuffle, seed, multiple_of: See `Batches`.

    Raises:
        ValueError: If lengths differ, there is no sentence, or an argument is out of range.

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
        characters: Sequence[Sequence[Sequence[int]]] | None = None,
        labels: Sequence[Sequence[int]] | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int = 0,
        multiple_of: int = 8,
        **kwargs: Any,
    ):
        super().__init__([len(row) for row in ids], batch_size, shuffle, seed, multiple_of, **kwargs)
        check_lengths(len(ids), characters=characters, labels=labels, sample_weight=sample_weight)
        for name, column in (("characters", characters), ("labels", labels)):
            for position, (words, values) in enumerate(zip(ids, column or ())):
                if len(words) != len(values):
                    raise ValueError(f"Sentence {position} has {len(words)} words, but {len(values)} `{name}`.")
        self.ids = ids
        self.labels = labels
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight, np.float32)
        self.characters: list[np.ndarray] | None = None
        if characters is not None:
            width = round_up(max(len(word) for words in characters for word in words), WIDTH_MULTIPLE)
            self.characters = [pad_characters([words], len(words), width)[0] for words in characters]

    def collate(self, chosen: np.ndarray) -> tuple[Any, ...]:
        words = pad([self.ids[i] for i in chosen], self.multiple_of)
        inputs = {"words": words}
        if self.characters is not None:
            inputs["characters"] = np.zeros((*words.shape, self.characters[0].shape[1]), np.int32)
            for row, i in enumerate(chosen):
                inputs["characters"][row, : len(self.ids[i])] = self.characters[i]
        batch: tuple[Any, ...] = (inputs,)
        if self.labels is not None:
            labels = np.full(words.shape, UNKNOWN_LABEL, np.int32)
            for row, i in enumerate(chosen):
                labels[row, : len(self.ids[i])] = self.labels[i]
            batch += (labels,)
            if self.sample_weight is not None:
                batch += (self.sample_weight[chosen],)
        return batch
