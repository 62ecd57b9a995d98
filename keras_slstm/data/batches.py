"""Batches of sentences of similar length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_slstm.data.text import pad, round_up


class TextBatches(keras.utils.PyDataset):
    """Batches of sentences of similar length, for `fit`, `evaluate` and `predict` on every backend.

    Sentences are sorted by their padded length, cut into batches, and the batches are shuffled. Sentences
    of equal padded length change places at random in each epoch, so batches differ from epoch to epoch. The
    order of an epoch depends on `(seed, epoch)` alone. Every sentence comes exactly once an epoch.

    `SentenceClassifier.fit` knows these batches. For another model, call
    `fit(batches, shuffle=False, callbacks=[batches.follow_epochs()])`: the shuffling of `fit` is neither
    seeded nor needed, and the callback sees to it that a training which resumes at epoch 7 gets what the
    uninterrupted one would have got.

    Args:
        ids: Word ids, a non-empty list for each sentence.
        labels: An integer for each sentence, or None (prediction).
        sample_weight: A weight for each sentence, or None.
        batch_size: Sentences a batch; the last batch (of the longest sentences) may be smaller.
        shuffle: Whether to shuffle as said above. Otherwise every epoch is the same, from short to long
            sentences; `restore_order` brings predictions back into the order of `ids`.
        seed: Seed of the shuffling.
        multiple_of: Lengths are padded to a multiple of this: a compiled model is compiled once a length.

    Raises:
        ValueError: If lengths differ, there is no sentence, or an argument is out of range.

    Example:

    >>> batches = TextBatches([[2, 3], [4], [5, 6, 7]], labels=[0, 1, 0], batch_size=2, multiple_of=2)
    >>> sorted(x.shape for x, y in batches)
    [(1, 4), (2, 2)]
    """

    def __init__(
        self,
        ids: Sequence[Sequence[int]],
        labels: Sequence[int] | np.ndarray | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int = 0,
        multiple_of: int = 8,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        for name, value in (("batch_size", batch_size), ("multiple_of", multiple_of)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"`{name}` must be an integer of at least 1, but got {value!r}.")
        if not len(ids):
            raise ValueError("There is no sentence: `ids` is empty.")
        for position, row in enumerate(ids):
            if not len(row):
                raise ValueError(f"Sentence {position} of `ids` has no word.")
        for name, values in (("labels", labels), ("sample_weight", sample_weight)):
            if values is not None and len(values) != len(ids):
                raise ValueError(f"There are {len(ids)} sentences, but {len(values)} `{name}`.")
        self.ids = ids
        self.labels = None if labels is None else np.asarray(labels, np.int32)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight, np.float32)
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.multiple_of = multiple_of
        self._next_epoch = 0
        self._lengths = np.array([round_up(len(row), multiple_of) for row in ids])
        self._order = self._batches_of_epoch(0)

    def __len__(self) -> int:
        return -(-len(self.ids) // self.batch_size)

    def __getitem__(self, index: int) -> tuple[np.ndarray, ...]:
        chosen = self._order[index]
        batch: tuple[np.ndarray, ...] = (pad([self.ids[i] for i in chosen], self.multiple_of),)
        if self.labels is not None:
            batch += (self.labels[chosen],)
            if self.sample_weight is not None:
                batch += (self.sample_weight[chosen],)
        return batch

    def shape_of(self, index: int) -> tuple[int, int]:
        """Number of sentences, and padded length, of a batch of this epoch."""
        chosen = self._order[index]
        return len(chosen), int(self._lengths[chosen].max())

    def on_epoch_begin(self) -> None:
        """Go on to the order of the next epoch."""
        # Keras calls this, on some backends, once more while it builds the model. Hence `follow_epochs`.
        self._order = self._batches_of_epoch(self._next_epoch)
        self._next_epoch += 1

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next."""
        self._next_epoch = epoch

    def follow_epochs(self) -> keras.callbacks.Callback:
        """A callback that keeps these batches at the epoch of `fit`, `initial_epoch` included."""
        return keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: self.set_epoch(epoch))

    def restore_order(self, outputs: np.ndarray) -> np.ndarray:
        """Bring the outputs of `predict`, a row for each sentence, into the order of `ids`."""
        restored = np.empty_like(outputs)
        restored[np.concatenate(self._order)] = outputs
        return restored

    def _batches_of_epoch(self, epoch: int) -> list[np.ndarray]:
        order = np.arange(len(self.ids))
        generator = np.random.default_rng((self.seed, epoch))
        if self.shuffle:
            order = generator.permutation(order)
        order = order[np.argsort(self._lengths[order], kind="stable")]
        batches = np.split(order, range(self.batch_size, len(order), self.batch_size))
        if self.shuffle:
            batches = [batches[i] for i in generator.permutation(len(batches))]
        _vary_first_two(batches, self._lengths)
        return batches


def _vary_first_two(batches: list[np.ndarray], lengths: np.ndarray) -> None:
    """Put a batch of another length second, where there is one, and a full batch first.

    On TensorFlow, Keras reads the first two batches and takes a length that they share for the length of
    all; a distributed training needs a first batch that divides by the number of replicas.
    """
    if len(batches) < 2:
        return
    if len(batches[0]) < len(batches[1]):
        batches[0], batches[1] = batches[1], batches[0]
    longest = [lengths[batch].max() for batch in batches]
    if longest[0] == longest[1]:
        other = next((i for i, length in enumerate(longest) if length != longest[0]), 1)
        batches[1], batches[other] = batches[other], batches[1]
