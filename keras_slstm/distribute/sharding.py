"""Each replica's part of the batches.

All processes go through the same batches in the same order, and each takes its rows of every batch. So a training on
several replicas sees what one process would see, whatever the number of replicas, and no row is lost or seen twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from keras_slstm.distribute.private import set_length

# The keys of an element of a replica's data: its part of the batch, how much that counts, and a number of the batch.
PART = "keras_slstm_part"
SHARE = "keras_slstm_share"
CHECK = "keras_slstm_check"
# Numbers so small that their sum is exact in float32. A different batch is overlooked once in so many times.
_CHECKS = 1024

Batch = tuple[Any, ...]


class Epoch:
    """The epoch at hand."""

    def __init__(self) -> None:
        self.number = 0

    def begin(self, number: int) -> None:
        self.number = number


@dataclass(frozen=True)
class Source:
    """Batches, each as one process would get it.

    Attributes:
        batches: Starts an epoch: its batches, as NumPy arrays; or a `tf.data.Dataset`.
        signature: What all batches have in common, as `tf.TensorSpec`.
        length: Number of batches; None if that is not known.
    """

    batches: Callable[[], Iterable[Batch]] | Any
    signature: Batch
    length: int | None


def make_source(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    batch_size: int | None = None,
    shuffle: bool = False,
    seed: int = 0,
    epoch: Epoch | None = None,
) -> Source:
    """Batches of arrays, of a `keras.utils.PyDataset`, or those of a `tf.data.Dataset`.

    Args:
        x, y, sample_weight, batch_size, shuffle: See `fit`.
        seed: The order of an epoch depends on this and its number.
        epoch: Says which epoch begins.

    Raises:
        ValueError: If `x` is something else, if an argument does not go with it, or if there is no batch.
    """
    import tensorflow as tf

    in_batches = isinstance(x, keras.utils.PyDataset | tf.data.Dataset)
    if in_batches:
        given = {"y": y, "sample_weight": sample_weight, "batch_size": batch_size}
        unwanted = next((name for name, value in given.items() if value is not None), None)
        if unwanted:
            raise ValueError(f"`{unwanted}` does not go with {type(x).__name__}, whose batches hold all there is.")
    if isinstance(x, tf.data.Dataset):
        length = int(x.cardinality())
        signature = x.element_spec if isinstance(x.element_spec, tuple) else (x.element_spec,)
        return Source(x, _trim(signature), length if length >= 0 else None)
    epoch = epoch or Epoch()
    if isinstance(x, keras.utils.PyDataset):
        return _source_of_dataset(x, shuffle, seed, epoch)
    if x is None or isinstance(x, Iterator):
        raise ValueError(
            f"`x` must hold arrays, or be a keras.utils.PyDataset or a tf.data.Dataset, but got {type(x).__name__}: "
            "each process has to go through the same batches, and may have to do so again."
        )
    return _source_of_arrays(_trim((x, y, sample_weight)), batch_size or 32, shuffle, seed, epoch)


def _source_of_dataset(data: keras.utils.PyDataset, shuffle: bool, seed: int, epoch: Epoch) -> Source:
    length = data.num_batches
    if length is None:
        raise ValueError(f"The {type(data).__name__} must say how many batches it has (`__len__`).")
    if not length:
        raise ValueError(f"The {type(data).__name__} has no batch.")

    def batches() -> Iterator[Batch]:
        order = _order(length, shuffle, seed, epoch.number)
        data.on_epoch_begin()
        for index in order:
            yield as_batch(data[int(index)])
        data.on_epoch_end()

    signature = _common_signature(*(as_batch(data[index]) for index in range(min(2, length))))
    return Source(batches, signature, length)


def _source_of_arrays(arrays: Batch, batch_size: int, shuffle: bool, seed: int, epoch: Epoch) -> Source:
    arrays = keras.tree.map_structure(_as_array, arrays)
    if any(array.ndim == 0 for array in keras.tree.flatten(arrays)):
        raise ValueError("Lists stand for several inputs or outputs: give numbers as an array.")
    sizes = [len(array) for array in keras.tree.flatten(arrays)]
    if not sizes or not sizes[0]:
        raise ValueError("There is no row: `x` is empty.")
    if len(set(sizes)) > 1:
        raise ValueError(f"All arrays must have the same number of rows, but they have {sizes}.")

    def rows(chosen: Any) -> Batch:
        return keras.tree.map_structure(lambda array: array[chosen], arrays)

    def batches() -> Iterator[Batch]:
        order = _order(sizes[0], shuffle, seed, epoch.number)
        for start in range(0, sizes[0], batch_size):
            yield rows(order[start : start + batch_size])

    return Source(batches, _common_signature(rows(slice(batch_size))), -(-sizes[0] // batch_size))


def _order(length: int, shuffle: bool, seed: int, epoch: int) -> np.ndarray:
    """The order of an epoch: the same in all processes, and in a training that resumes."""
    return np.random.default_rng((seed, epoch)).permutation(length) if shuffle else np.arange(length)


def _as_array(value: Any) -> np.ndarray:
    array = keras.ops.convert_to_numpy(value) if keras.ops.is_tensor(value) else np.asarray(value)
    return array.astype(keras.config.floatx()) if np.issubdtype(array.dtype, np.floating) else array


def as_batch(item: Any) -> Batch:
    """An item of a `keras.utils.PyDataset` as inputs, labels and weights."""
    return _trim(tuple(item)) if isinstance(item, tuple | list) else (item,)


def _trim(batch: Batch) -> Batch:
    """Inputs, labels and weights, without those at the end that are None."""
    while batch and batch[-1] is None:
        batch = batch[:-1]
    if any(part is None for part in batch):
        raise ValueError("A batch with sample weights needs labels.")
    return batch


# The parts.


def replicate(strategy: Any, source: Source, class_weight: dict[int, float] | None = None) -> Any:
    """Give each replica its part of every batch.

    Args:
        strategy: The strategy.
        source: The batches.
        class_weight: The weight of each label, instead of sample weights.

    Returns:
        A `tf.distribute.DistributedDataset`. Each element holds a replica's rows (`PART`), their number divided by
        the mean number of rows of a replica (`SHARE`), and a number that depends on the whole batch (`CHECK`). A
        replica for which there is no row gets one, with a share of 0.
    """
    import tensorflow as tf

    dataset = source.batches
    if not isinstance(dataset, tf.data.Dataset):
        dataset = tf.data.Dataset.from_generator(source.batches, output_signature=source.signature)
    if class_weight:
        dataset = dataset.map(lambda *batch: _weigh(batch, class_weight))
    replicas = strategy.num_replicas_in_sync

    def make(context: Any) -> Any:
        local = replicas // context.num_input_pipelines
        first = context.input_pipeline_id * local

        def parts(*batch: Any) -> Any:
            batch = _trim(batch)
            check = _check(batch)
            numbers = tf.data.Dataset.range(first, first + local)
            return numbers.map(lambda number: {**part(batch, number, replicas), CHECK: check})

        local_data = dataset.flat_map(parts)
        if source.length is not None:
            local_data = local_data.apply(tf.data.experimental.assert_cardinality(source.length * local))
        return local_data.prefetch(tf.data.AUTOTUNE)

    shared_out = strategy.distribute_datasets_from_function(make)
    if source.length is not None:
        set_length(shared_out, source.length)
    return shared_out


def _check(batch: Batch) -> Any:
    """A number below `_CHECKS`, which is likely to differ where batches do."""
    import tensorflow as tf

    tensors = tf.nest.flatten(batch, expand_composites=True)
    hashes = [tf.strings.to_hash_bucket_fast(tf.io.serialize_tensor(tensor), _CHECKS) for tensor in tensors]
    return tf.cast(tf.add_n([(i + 1) * value for i, value in enumerate(hashes)]) % _CHECKS, tf.int32)


def part(batch: Batch, number: Any, replicas: int) -> dict[str, Any]:
    """The rows of a batch that a replica gets, and how much they count; see `replicate`."""
    import tensorflow as tf

    rows = tf.shape(keras.tree.flatten(batch)[0], out_type=tf.int64)[0]
    start, stop = number * rows // replicas, (number + 1) * rows // replicas
    share = tf.cast((stop - start) * replicas, tf.float32) / tf.cast(rows, tf.float32)
    start = tf.minimum(start, rows - 1)
    stop = tf.maximum(stop, start + 1)
    return {PART: keras.tree.map_structure(lambda tensor: tensor[start:stop], batch), SHARE: share}


def _common_signature(*batches: Batch) -> Batch:
    return keras.tree.map_structure(_common_spec, *batches)


def _common_spec(*arrays: Any) -> Any:
    """What arrays of some batches have in common; the number of rows is always open."""
    import tensorflow as tf

    arrays = tuple(np.asarray(array) for array in arrays)
    if len({(array.ndim, array.dtype) for array in arrays}) > 1:
        raise ValueError(
            "Batches must be alike, but one array is of shape and dtype "
            + " and ".join(f"{array.shape} {array.dtype}" for array in arrays)
        )
    sizes = [first if len({first, *others}) == 1 else None for first, *others in zip(*(a.shape for a in arrays))]
    return tf.TensorSpec([None, *sizes[1:]], arrays[0].dtype)


def _weigh(batch: Batch, class_weight: dict[int, float]) -> Batch:
    """Labels' weights as sample weights."""
    import tensorflow as tf

    if len(batch) != 2:
        raise ValueError("`class_weight` needs labels, and no sample weights.")
    x, y = batch
    if not tf.is_tensor(y):
        raise ValueError("`class_weight` is for models with one output.")
    last = max(class_weight) + 1  # and all labels after it: 1
    table = tf.constant([class_weight.get(label, 1.0) for label in range(last + 1)], tf.float32)
    if y.shape.rank > 1:
        labels = tf.argmax(y, axis=-1) if y.shape[-1] != 1 else tf.cast(y[..., 0], tf.int64)
    else:
        labels = tf.cast(y, tf.int64)
    return x, y, tf.gather(table, tf.minimum(labels, last))
