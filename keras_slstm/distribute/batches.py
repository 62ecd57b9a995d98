"""Batches of arrays, a `keras.utils.PyDataset` or an iterable, in the same order in all processes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.iterables import IterableBatches

Batch = tuple[Any, ...]


@dataclass(frozen=True)
class Spec:
    """The common shape and dtype of several arrays; None for a size that differs."""

    shape: tuple[int | None, ...]
    dtype: np.dtype


class Epoch:
    """The number of the current epoch."""

    def __init__(self) -> None:
        self.number = 0

    def begin(self, number: int) -> None:
        self.number = number


def make_dataset(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    batch_size: int | None = None,
    shuffle: bool = False,
    seed: int = 0,
    epoch: Epoch | None = None,
    steps: int | None = None,
) -> keras.utils.PyDataset:
    """Return the batches of arrays, of a `keras.utils.PyDataset` or of an iterable; see `make_source`.

    The order of an iterable stays as it is, even if `shuffle` is true.
    """
    epoch = epoch or Epoch()
    if isinstance(x, keras.utils.PyDataset):
        check_alone(x, y=y, sample_weight=sample_weight, batch_size=batch_size)
        if x.num_batches is None:
            raise ValueError(f"{type(x).__name__} must have `__len__`, its number of batches.")
        if not x.num_batches:
            raise ValueError(f"{type(x).__name__} has no batches.")
        return ShuffledBatches(x, seed, epoch) if shuffle else x
    if x is None:
        raise ValueError("`x` must hold arrays or batches, but got None.")
    if is_iterable_of_batches(x):
        check_alone(x, y=y, sample_weight=sample_weight, batch_size=batch_size)
        return IterableBatches(x, steps)
    return ArrayBatches(trim((x, y, sample_weight)), batch_size or 32, shuffle, seed, epoch)


def is_iterable_of_batches(x: Any) -> bool:
    """Whether `x` is an iterable of batches, such as a generator or a `tf.data.Dataset`, and not arrays."""
    return hasattr(x, "__iter__") and not hasattr(x, "shape") and not isinstance(x, list | tuple | Mapping)


class ShuffledBatches(keras.utils.PyDataset):
    """The batches of another dataset, in an order that depends only on the seed and the epoch."""

    def __init__(self, data: keras.utils.PyDataset, seed: int, epoch: Epoch):
        super().__init__(data.workers, data.use_multiprocessing, data.max_queue_size)
        self.data = data
        self.seed = seed
        self.epoch = epoch
        self._choose_order()

    def __len__(self) -> int:
        return self.data.num_batches

    def __getitem__(self, index: int) -> Any:
        return self.data[int(self._order[index])]

    def on_epoch_begin(self) -> None:
        self._choose_order()
        self.data.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self.data.on_epoch_end()

    def _choose_order(self) -> None:
        self._order = _order(self.data.num_batches, True, self.seed, self.epoch.number)


def split_rows(arrays: Batch, fraction: float) -> tuple[Batch, Batch]:
    """Split arrays as Keras does: return all but the last `fraction` of their rows, and these last rows.

    Raises:
        ValueError: If the data is not in arrays, or if a part has no rows.
    """
    flat = keras.tree.flatten(arrays)
    if not all(array is None or hasattr(array, "__array__") for array in flat):
        raise ValueError("`validation_split` needs arrays. For batches, pass `validation_data` instead.")
    rows = len(flat[0])
    first = math.floor(rows * (1.0 - fraction))
    if not 0 < first < rows:
        raise ValueError(f"validation_split={fraction} of {rows} rows leaves a part without rows.")

    def part(rows: slice) -> Batch:
        return keras.tree.map_structure(lambda array: None if array is None else array[rows], arrays)

    return part(slice(first)), part(slice(first, None))


class ArrayBatches(keras.utils.PyDataset):
    """Batches of the rows of arrays. A shuffle depends only on the seed and the epoch."""

    def __init__(self, arrays: Batch, batch_size: int, shuffle: bool, seed: int, epoch: Epoch):
        super().__init__()
        arrays = keras.tree.lists_to_tuples(keras.tree.map_structure(_as_array, arrays))  # as `fit` of Keras does
        if any(array.ndim == 0 for array in keras.tree.flatten(arrays)):
            raise ValueError("A list is read as several inputs or outputs: convert lists of numbers to arrays.")
        sizes = [len(array) for array in keras.tree.flatten(arrays)]
        if not sizes or not sizes[0]:
            raise ValueError("`x` is empty.")
        if len(set(sizes)) > 1:
            raise ValueError(f"All arrays must have the same number of rows, but they have {sizes}.")
        self.arrays = arrays
        self.rows = sizes[0]
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = epoch
        self.on_epoch_begin()

    def __len__(self) -> int:
        return -(-self.rows // self.batch_size)

    def __getitem__(self, index: int) -> Batch:
        chosen = self._order[index * self.batch_size : (index + 1) * self.batch_size]
        return keras.tree.map_structure(lambda array: array[chosen], self.arrays)

    def on_epoch_begin(self) -> None:
        self._order = _order(self.rows, self.shuffle, self.seed, self.epoch.number)


def _order(length: int, shuffle: bool, seed: int, epoch: int) -> np.ndarray:
    """Return the order of an epoch, which is the same in all processes and in a resumed run."""
    return np.random.default_rng((seed, epoch)).permutation(length) if shuffle else np.arange(length)


def _as_array(value: Any) -> np.ndarray:
    array = keras.ops.convert_to_numpy(value) if keras.ops.is_tensor(value) else np.asarray(value)
    return array.astype(keras.config.floatx()) if np.issubdtype(array.dtype, np.floating) else array


def signature_of(data: keras.utils.PyDataset) -> Batch:
    """Return the common shapes and dtypes of the first two batches; the number of rows is always None."""
    batches = [as_batch(batch) for batch in first_batches(data, 2)]
    return keras.tree.map_structure(_common_spec, *batches)


def first_batches(data: keras.utils.PyDataset, count: int) -> list[Any]:
    """Return the first batches of an epoch without consuming them: training still gets them."""
    if isinstance(data, IterableBatches):
        return data.first(count)
    return [data[index] for index in range(min(count, data.num_batches))]


def _common_spec(*arrays: Any) -> Spec:
    arrays = tuple(np.asarray(array) for array in arrays)
    if len({(array.ndim, array.dtype) for array in arrays}) > 1:
        raise ValueError(
            "All batches must have the same rank and dtype, but an array has shape and dtype "
            + " and ".join(f"{array.shape} {array.dtype}" for array in arrays)
        )
    sizes = [first if len({first, *others}) == 1 else None for first, *others in zip(*(a.shape for a in arrays))]
    return Spec((None, *sizes[1:]), arrays[0].dtype)


def as_batch(item: Any) -> Batch:
    """Return an item of a `keras.utils.PyDataset` as inputs, labels and weights."""
    return keras.tree.lists_to_tuples(trim(tuple(item))) if isinstance(item, tuple | list) else (item,)


def trim(batch: Batch) -> Batch:
    """Return inputs, labels and weights without trailing None."""
    while batch and batch[-1] is None:
        batch = batch[:-1]
    if any(part is None for part in batch):
        raise ValueError("A batch with sample weights needs labels.")
    return batch


def check_alone(x: Any, **given: Any) -> None:
    """Raise ValueError if another argument is given together with a dataset of batches."""
    unwanted = next((name for name, value in given.items() if value is not None), None)
    if unwanted:
        raise ValueError(f"`{unwanted}` cannot be given with {type(x).__name__}, whose batches hold all data.")


def weigh(batch: Batch, class_weight: dict[int, float]) -> Batch:
    """Turn class weights into sample weights."""
    if len(batch) != 2:
        raise ValueError("`class_weight` needs labels, and cannot be combined with sample weights.")
    x, y = batch
    if keras.tree.is_nested(y):
        raise ValueError("`class_weight` needs a model with one output.")
    ops = keras.ops
    last = max(class_weight) + 1  # larger labels have weight 1
    table = ops.convert_to_tensor([class_weight.get(label, 1.0) for label in range(last + 1)], "float32")
    if len(y.shape) > 1:
        labels = ops.argmax(y, axis=-1) if y.shape[-1] != 1 else y[..., 0]
    else:
        labels = y
    return x, y, ops.take(table, ops.minimum(ops.cast(labels, "int32"), last))
