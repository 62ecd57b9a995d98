"""What decides how a training goes on, besides the weights: random state, metrics, and the place in the data."""

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
    """What decides about the next dropout masks, as JSON values. Keras saves none of it with the weights."""
    state: dict[str, Any] = {
        "seed_generators": [keras.ops.convert_to_numpy(v).tolist() for v in seed_generators(model)]
    }
    if keras.backend.backend() == "torch":  # where unseeded layers draw from the generators of torch itself
        import torch

        generators = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
        state["torch"] = [base64.b64encode(g.numpy().tobytes()).decode("ascii") for g in generators]
    return state


def set_random_state(model: keras.Model, state: dict[str, Any]) -> None:
    """Go back to a random state."""
    for variable, value in zip(seed_generators(model), state["seed_generators"], strict=True):
        variable.assign(np.array(value, dtype=variable.dtype))
    if keras.backend.backend() == "torch" and "torch" in state:
        import torch

        cpu, *cuda = [torch.frombuffer(bytearray(base64.b64decode(g)), dtype=torch.uint8) for g in state["torch"]]
        torch.set_rng_state(cpu)
        if len(cuda) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(cuda)


def metric_values(model: keras.Model) -> list[Any]:
    """What the metrics have seen of the epoch so far, as JSON values."""
    return [keras.ops.convert_to_numpy(v).tolist() for v in model.metrics_variables]


def set_metric_values(model: keras.Model, values: list[Any]) -> None:
    """Go back to what the metrics had seen."""
    for variable, value in zip(model.metrics_variables, values, strict=True):
        variable.assign(np.array(value, dtype=variable.dtype))


class _WeightsInMemory(io.BytesIO):
    """A file in memory, with the ending that `save_weights` asks for."""

    def __str__(self) -> str:
        return "state.weights.h5"


def weights_in_memory(model: keras.Model) -> memoryview:
    """What `model.save_weights` writes.

    HDF5 must not write to a full disk: it fails again, with a segmentation fault, when Python exits.
    """
    file = _WeightsInMemory()
    model.save_weights(file)
    return file.getbuffer()


class RestOfEpoch(keras.utils.PyDataset):
    """The batches of an epoch that a training which resumes has not seen yet.

    Args:
        data: All batches. If their order depends on the epoch, `data.set_epoch` must say which one comes next.
        epoch: The epoch.
        step: How many of its batches are left out.
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
        # Before the epoch, Keras looks at two batches to see what they have in common. Let it see the two that
        # `data` shows for that, unless there is only one more.
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
    """Inside, the end of `fit` is not the end of the training, where moving averages take the place of weights."""
    optimizer.finalize_variable_values = lambda variables: None
    try:
        yield
    finally:
        del optimizer.finalize_variable_values
