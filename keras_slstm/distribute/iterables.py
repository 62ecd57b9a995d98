"""Batches of generators, `torch.utils.data.DataLoader`, Grain, (not on TensorFlow) `tf.data` and other iterables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np


class IterableBatches(keras.utils.PyDataset):
    """The batches of an iterable, in its order.

    A generator goes on from epoch to epoch. Any other iterable is iterated anew in each epoch; in all processes, it
    must give the same batches, so a shuffling one needs a seed.

    Args:
        data: The iterable of batches.
        steps: Number of batches of an epoch. None: `len(data)`.

    Raises:
        ValueError: If the number of batches is unknown or 0, or the iterable ends before.
    """

    def __init__(self, data: Iterable[Any], steps: int | None = None):
        super().__init__()
        name = type(data).__name__
        if steps is None:
            try:
                steps = len(data)  # type: ignore[arg-type]
            except TypeError:  # also that of a `tf.data.Dataset` that is infinite or counted by nobody
                raise ValueError(
                    f"The number of batches of a {name} is unknown: give `steps_per_epoch`, or `steps`."
                ) from None
        self.data = data
        self.steps = steps
        if not self.steps:
            raise ValueError(f"{name} has no batches.")
        self._goes_on = isinstance(data, Iterator)
        self._iterator = iter(data)
        self._read: dict[int, Any] = {}  # the batches that may be asked for again
        self._next = 0  # the number of the next batch of the iterator
        self._start = 0  # the number of the first batch of this epoch
        self._given = -1  # the last batch of this epoch that was given

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int) -> Any:
        number = self._start + index
        while self._next <= number:
            self._read = {kept: batch for kept, batch in self._read.items() if kept >= number - 1}
            self._read[self._next] = self._take()
            self._next += 1
        self._given = max(self._given, index)
        return self._read[number]

    def first(self, count: int) -> list[Any]:
        """The first batches of an epoch, which are given again."""
        batches = [self[index] for index in range(min(count, self.steps))]
        self._given = -1
        return batches

    def on_epoch_begin(self) -> None:
        if self._given < self.steps - 1:
            return  # Keras calls this once more before the first epoch
        self._given = -1
        if self._goes_on:
            self._start += self.steps
        else:
            self._iterator, self._read, self._next = iter(self.data), {}, 0

    def _take(self) -> Any:
        try:
            return keras.tree.map_structure(np.asarray, next(self._iterator))
        except StopIteration:
            raise ValueError(
                f"{type(self.data).__name__} has ended after {self._next} batches, but {self.steps} an epoch were "
                "expected: let it go on, or give a smaller `steps_per_epoch`."
            ) from None
