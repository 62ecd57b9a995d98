"""The state of a training run besides its weights: random generators, metrics, and position in the data."""

from __future__ import annotations

import base64
import contextlib
import io
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.variables import seed_generators


def random_state(model: keras.Model) -> dict[str, Any]:
    """The state of the random generators, as JSON values. Keras does not save it with the weights."""
    state: dict[str, Any] = {
        "seed_generators": [keras.ops.convert_to_numpy(v).tolist() for v in seed_generators(model)]
    }
    if keras.backend.backend() == "torch":  # unseeded layers draw from torch's own generators
        import torch

        generators = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
        state["torch"] = [base64.b64encode(g.numpy().tobytes()).decode("ascii") for g in generators]
    return state


def set_random_state(model: keras.Model, state: dict[str, Any]) -> None:
    """Restore the state of the random generators."""
    for variable, value in zip(seed_generators(model), state["seed_generators"], strict=True):
        variable.assign(np.array(value, dtype=variable.dtype))
    if keras.backend.backend() == "torch" and "torch" in state:
        import torch

        cpu, *cuda = [torch.frombuffer(bytearray(base64.b64decode(g)), dtype=torch.uint8) for g in state["torch"]]
        torch.set_rng_state(cpu)
        if len(cuda) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(cuda)


def metric_values(model: keras.Model) -> list[Any]:
    """The state of the metrics, as JSON values."""
    return [keras.ops.convert_to_numpy(v).tolist() for v in model.metrics_variables]


def set_metric_values(model: keras.Model, values: list[Any]) -> None:
    """Restore the state of the metrics."""
    for variable, value in zip(model.metrics_variables, values, strict=True):
        variable.assign(np.array(value, dtype=variable.dtype))


class _WeightsInMemory(io.BytesIO):
    """A file in memory with the suffix that `save_weights` requires."""

    def __str__(self) -> str:
        return "state.weights.h5"


def weights_in_memory(model: keras.Model) -> memoryview:
    """The contents of the file that `model.save_weights` writes.

    HDF5 must not write to the disk itself: on a full disk, Python crashes with a segmentation fault.
    """
    file = _WeightsInMemory()
    model.save_weights(file)
    return file.getbuffer()


class RestOfEpoch(keras.utils.PyDataset):
    """The rest of an epoch, for a run that was interrupted within it.

    Args:
        data: All batches. If their order depends on the epoch, `data` must have a method `set_epoch`.
        epoch: The epoch, counted from 0.
        step: Number of batches to skip.
    """

    def __init__(self, data: keras.utils.PyDataset, epoch: int, step: int):
        super().__init__(data.workers, data.use_multiprocessing, data.max_queue_size)
        self.data = data
        self.epoch = epoch
        self.step = step
        self._begun = False

    def __len__(self) -> int:
        return len(self.data) - self.step

    def __getitem__(self, index: int) -> Any:
        # Before the epoch, Keras compares the shapes of the first two batches: show those of the whole epoch, unless
        # only one is left, in which case Keras asks for no second one.
        return self.data[index if not self._begun and len(self) > 1 else index + self.step]

    def on_epoch_begin(self) -> None:
        if hasattr(self.data, "set_epoch"):
            self.data.set_epoch(self.epoch)
        self.data.on_epoch_begin()
        self._begun = True

    def on_epoch_end(self) -> None:
        self.data.on_epoch_end()


@contextlib.contextmanager
def unfinished(optimizer: keras.optimizers.Optimizer) -> Iterator[None]:
    """Keep `fit` from replacing the weights with their moving averages before the last epoch."""
    optimizer.finalize_variable_values = lambda variables: None
    try:
        yield
    finally:
        del optimizer.finalize_variable_values
