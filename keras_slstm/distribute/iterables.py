"""Batches of generators, PyTorch's `DataLoader`, Grain and other iterables and, on JAX and PyTorch, of `tf.data`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np


class IterableBatches(keras.utils.PyDataset):
    """The batches of an iterable, in its order.

    A generator continues from epoch to epoch. Any other iterable starts again in each epoch. Both must yield the same
    batches in all processes, so shuffling needs a seed.

    Args:
        data: The iterable of batches.
        steps: Number of batches in an epoch. None: `len(data)`.

    Raises:
        ValueError: If the number of batches is unknown or 0, or if the iterable ends early.
    """

    def __init__(self, data: Iterable[Any], steps: int | None = None):
        super().__init__()
        name = type(data).__name__
        if steps is None:
            try:
                steps = len(data)  # type: ignore[arg-type]
            except TypeError:  # also for a `tf.data.Dataset` that is infinite or of unknown length
                raise ValueError(
                    f"The number of batches of a {name} is unknown: pass `steps_per_epoch` or `steps`."
                ) from None
        self.data = data
        self.steps = steps
        if not self.steps:
            raise ValueError(f"{name} has no batches.")
        self._continues = isinstance(data, Iterator)
        self._iterator = iter(data)
        self._kept: dict[int, Any] = {}  # the batches that Keras may ask for again
        self._next = 0  # the number of the next batch of the iterator
        self._start = 0  # the number of the first batch of this epoch
        self._given = -1  # the last batch of this epoch that `__getitem__` returned

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int) -> Any:
        number = self._start + index
        while self._next <= number:
            self._kept = {kept: batch for kept, batch in self._kept.items() if kept >= number - 1}
            self._kept[self._next] = self._take()
            self._next += 1
        self._given = max(self._given, index)
        return self._kept[number]

    def first(self, count: int) -> list[Any]:
        """Return the first batches of an epoch; `__getitem__` returns them again."""
        batches = [self[index] for index in range(min(count, self.steps))]
        self._given = -1
        return batches

    def on_epoch_begin(self) -> None:
        if self._given < self.steps - 1:
            return  # Keras calls this once more before the first epoch
        self._given = -1
        if self._continues:
            self._start += self.steps
        else:
            self._iterator, self._kept, self._next = iter(self.data), {}, 0

    def _take(self) -> Any:
        try:
            return keras.tree.map_structure(np.asarray, next(self._iterator))
        except StopIteration:
            raise ValueError(
                f"{type(self.data).__name__} ended after {self._next} batches, but an epoch has {self.steps}: "
                "pass a smaller `steps_per_epoch`, or make it yield more batches."
            ) from None
