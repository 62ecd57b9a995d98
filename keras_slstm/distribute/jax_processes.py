"""Data and training steps on several devices of JAX, in one process or several, under a `keras.distribution`.

JAX treats an array on several devices as one array and a step as one program, so XLA computes the same as in one
process, including random numbers. But all devices must hold parts of the same size. If the number of rows of a batch is
not divisible by the number of devices, the data repeats the last row, and the step drops the repetitions before it
calls the model.
"""

from __future__ import annotations

import zlib
from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.batches import as_batch, first_batches, weigh
from keras_slstm.distribute.collectives import all_gather
from keras_slstm.distribute.errors import DIFFERENT_DATA, ProcessesDiffer
from keras_slstm.distribute.jax_loops import loops_on_own_rows

# The keys of an element: the part of the batch that this process feeds, and the number of rows of the whole batch.
PART = "keras_slstm_part"
ROWS = "keras_slstm_rows"


def is_on_mesh() -> bool:
    """Whether JAX places models on several devices."""
    if keras.backend.backend() != "jax":
        return False
    distribution = keras.distribution.distribution()
    return distribution is not None and distribution.device_mesh.devices.size > 1


class PartOfBatches(keras.utils.PyDataset):
    """The rows of each batch that one process feeds.

    Args:
        data: All rows of each batch.
        index: The number of the process.
        count: Number of processes.
        devices: Number of devices, in all processes together, among which the rows are divided.
        class_weight: The weight of each label. It cannot be combined with sample weights.

    Raises:
        ProcessesDiffer: At the beginning of an epoch, if processes have different data.
    """

    def __init__(
        self,
        data: keras.utils.PyDataset,
        index: int,
        count: int,
        devices: int,
        class_weight: dict[int, float] | None = None,
    ):
        super().__init__(data.workers, data.use_multiprocessing, data.max_queue_size)
        self.data = data
        self.index = index
        self.count = count
        self.devices = devices
        self.class_weight = class_weight

    def __len__(self) -> int:
        return self.data.num_batches

    def __getitem__(self, index: int) -> Any:
        batch = as_batch(self.data[index])
        if self.class_weight:
            batch = weigh(batch, self.class_weight)
        rows = len(keras.tree.flatten(batch)[0])
        size = -(-rows // self.devices) * self.devices // self.count
        chosen = np.arange(self.index * size, (self.index + 1) * size).clip(max=rows - 1)
        part = keras.tree.map_structure(lambda array: np.asarray(array)[chosen], batch)
        return ({PART: part, ROWS: np.full(size, rows, "int32")},)

    def on_epoch_begin(self) -> None:
        self.data.on_epoch_begin()
        # Comparing every batch would make the processes wait for each other at every step.
        arrays = [np.asarray(array) for array in keras.tree.flatten(as_batch(first_batches(self.data, 1)[0]))]
        check = zlib.crc32(b"".join(array.tobytes() for array in arrays))
        if len({tuple(found) for found in all_gather([len(self), check], "data")}) > 1:
            raise ProcessesDiffer(DIFFERENT_DATA)

    def on_epoch_end(self) -> None:
        self.data.on_epoch_end()


def part_of(data: keras.utils.PyDataset, class_weight: dict[int, float] | None = None) -> PartOfBatches:
    """Return the part of each batch that this process feeds."""
    import jax

    distribution = keras.distribution.distribution()
    mesh = distribution.device_mesh
    axis = mesh.axis_names.index(distribution.batch_dim_name)
    return PartOfBatches(data, jax.process_index(), jax.process_count(), mesh.shape[axis], class_weight)


class WholeBatchFunction:
    """A model's `train_function`, `test_function` or `predict_function`, for data from `PartOfBatches`.

    Keras calls it with the values of the variables and an iterator. It returns the logs or predictions and the new
    values. Logs and predictions are complete on every device, and variables keep their layout.

    Args:
        model: The model, with all its variables.
        kind: `"train"`, `"test"` or `"predict"`.
    """

    def __init__(self, model: keras.Model, kind: str):
        import jax

        def predict_step(state: Any, batch: Any) -> Any:
            outputs, non_trainable_variables = model.predict_step(state, batch)
            return outputs, (state[0], non_trainable_variables)

        step = {"train": model.train_step, "test": model.test_step, "predict": predict_step}[kind]

        def on_rows(state: Any, part: Any, rows: int) -> Any:
            with loops_on_own_rows(model):
                return step(state, keras.tree.map_structure(lambda array: array[:rows], part))

        mesh = keras.distribution.distribution().device_mesh.backend_mesh
        replicated = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        variables = [model.trainable_variables, model.non_trainable_variables]
        if kind == "train":
            variables.append(model.optimizer.variables)
        if kind != "predict":
            variables.append(model.metrics_variables)
        layouts = tuple([variable.value.sharding for variable in group] for group in variables)
        self._step = jax.jit(on_rows, static_argnums=2, donate_argnums=0, out_shardings=(replicated, layouts))
        self._steps = model.steps_per_execution
        self._predicts = kind == "predict"

    def __call__(self, state: Any, iterator: Any) -> Any:
        results: list[Any] = []
        for _ in range(self._steps):
            try:
                element = next(iterator)[0]
            except StopIteration:
                if not results:
                    raise
                break
            rows = int(element[ROWS].addressable_data(0)[0])
            result, state = self._step(state, element[PART], rows)
            results.append(result)
        if self._predicts and len(results) > 1:
            return keras.tree.map_structure(lambda *outputs: np.concatenate(outputs), *results), state
        return results[-1], state
