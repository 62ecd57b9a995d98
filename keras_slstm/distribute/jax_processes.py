"""Several processes on JAX: what each of them feeds to `keras.distribution.DataParallel`."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.sharding import as_batch
from keras_slstm.distribute.strategies import joined


class PartOfBatches(keras.utils.PyDataset):
    """The rows of each batch that one process feeds.

    JAX cuts a batch into parts of one size. Where its rows do not divide by the number of devices, the last one is
    repeated with a weight of 0, and the others weigh more by as much as the mean over more rows makes them weigh less.
    Gradients are those of the batch. Metrics without weights count the repeated row.

    Args:
        data: All rows of each batch.
        index: The number of the process.
        count: Number of processes.
        devices: Number of devices of all of them together.
    """

    def __init__(self, data: keras.utils.PyDataset, index: int, count: int, devices: int):
        super().__init__(data.workers, data.use_multiprocessing, data.max_queue_size)
        self.data = data
        self.index = index
        self.count = count
        self.devices = devices

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        batch = as_batch(self.data[index])
        rows = len(keras.tree.flatten(batch)[0])
        filled = -(-rows // self.devices) * self.devices
        chosen = np.minimum(np.arange(filled), rows - 1)
        batch = keras.tree.map_structure(lambda array: np.asarray(array)[chosen], batch)
        if len(batch) > 1:
            weights = batch[2] if len(batch) > 2 else np.ones(filled, "float32")
            factor = np.where(np.arange(filled) < rows, np.float32(filled / rows), np.float32(0))
            weights = keras.tree.map_structure(lambda w: w * factor.reshape(-1, *[1] * (np.ndim(w) - 1)), weights)
            batch = (*batch[:2], weights)
        own = slice(self.index * filled // self.count, (self.index + 1) * filled // self.count)
        return keras.tree.map_structure(lambda array: array[own], batch)

    def on_epoch_begin(self) -> None:
        self.data.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self.data.on_epoch_end()


def own_part(data: Any) -> Any:
    """What this process feeds; all of `data` where it trains alone."""
    here = joined()
    if here is None or keras.backend.backend() != "jax" or isinstance(data, PartOfBatches):
        return data
    if not isinstance(data, keras.utils.PyDataset):
        raise ValueError(
            "Several processes on JAX need batches, as a keras.utils.PyDataset that is the same in all of them, but "
            f"got {type(data).__name__}."
        )
    import jax

    return PartOfBatches(data, here.cluster.index, here.cluster.size, jax.device_count())
