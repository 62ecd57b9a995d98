"""Divides batches among replicas.

All processes read the same batches in the same order, and each takes its own rows of every batch. So several replicas
train on the same batches as one process, and every row is used once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import keras

from keras_slstm.distribute.batches import Batch, Epoch, as_batch, check_alone, make_dataset, signature_of, trim, weigh
from keras_slstm.distribute.keras_internals import set_length

# Keys of an element of a replica's data: its part of the batch, its share, and a hash of the batch.
PART = "keras_slstm_part"
SHARE = "keras_slstm_share"
CHECK = "keras_slstm_check"
# Hashes are small, so that their sum is exact in float32. Two different batches collide with probability 1/1024.
_CHECKS = 1024


@dataclass(frozen=True)
class Source:
    """Whole batches, as a single process would get them.

    Attributes:
        batches: A function that returns the batches of an epoch as NumPy arrays, or a `tf.data.Dataset`.
        signature: The `tf.TensorSpec` of the batches: of the dataset, or common to the first two batches.
        length: Number of batches, or None if unknown.
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
    steps: int | None = None,
) -> Source:
    """Return the batches of arrays, a `keras.utils.PyDataset`, an iterable of batches or a `tf.data.Dataset`.

    Args:
        x, y, sample_weight, batch_size, shuffle: See `fit`.
        seed: Seed of the shuffle. The order of an epoch depends on the seed and the number of the epoch.
        epoch: The current epoch.
        steps: Number of batches in an epoch, for an iterable without a length.

    Raises:
        ValueError: If `x` is something else or empty, or if an argument cannot be combined with it.
    """
    import tensorflow as tf

    if isinstance(x, tf.data.Dataset):
        check_alone(x, y=y, sample_weight=sample_weight, batch_size=batch_size)
        length = int(x.cardinality())
        signature = x.element_spec if isinstance(x.element_spec, tuple) else (x.element_spec,)
        return Source(x, trim(signature), length if length >= 0 else None)
    return _source_of_dataset(make_dataset(x, y, sample_weight, batch_size, shuffle, seed, epoch, steps))


def _source_of_dataset(data: keras.utils.PyDataset) -> Source:
    import tensorflow as tf

    length = data.num_batches

    def batches() -> Iterator[Batch]:
        data.on_epoch_begin()
        for index in range(length):
            yield as_batch(data[index])
        data.on_epoch_end()

    signature = keras.tree.map_structure(lambda spec: tf.TensorSpec(spec.shape, spec.dtype), signature_of(data))
    return Source(batches, signature, length)


# The parts.


def replicate(strategy: Any, source: Source, class_weight: dict[int, float] | None = None) -> Any:
    """Divide every batch among the replicas.

    Args:
        strategy: The strategy.
        source: The batches.
        class_weight: The weight of each label. It cannot be combined with sample weights.

    Returns:
        A `tf.distribute.DistributedDataset`. Each element holds a replica's rows (`PART`), their number divided by
        the mean number of rows of a replica (`SHARE`), and a hash of the whole batch (`CHECK`). If a batch has fewer
        rows than there are replicas, each of the remaining replicas gets one row with a share of 0.
    """
    import tensorflow as tf

    dataset = source.batches
    if not isinstance(dataset, tf.data.Dataset):
        dataset = tf.data.Dataset.from_generator(source.batches, output_signature=source.signature)
    if class_weight:
        dataset = dataset.map(lambda *batch: weigh(batch, class_weight))
    replicas = strategy.num_replicas_in_sync

    def make(context: Any) -> Any:
        local = replicas // context.num_input_pipelines
        first = context.input_pipeline_id * local

        def parts(*batch: Any) -> Any:
            batch = trim(batch)
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
    """Return a hash of a batch, below `_CHECKS`."""
    import tensorflow as tf

    tensors = tf.nest.flatten(batch, expand_composites=True)
    hashes = [tf.strings.to_hash_bucket_fast(tf.io.serialize_tensor(tensor), _CHECKS) for tensor in tensors]
    return tf.cast(tf.add_n([(i + 1) * value for i, value in enumerate(hashes)]) % _CHECKS, tf.int32)


def part(batch: Batch, number: Any, replicas: int) -> dict[str, Any]:
    """Return the rows of a batch for a replica, and their share; see `replicate`."""
    import tensorflow as tf

    rows = tf.shape(keras.tree.flatten(batch)[0], out_type=tf.int64)[0]
    start, stop = number * rows // replicas, (number + 1) * rows // replicas
    share = tf.cast((stop - start) * replicas, tf.float32) / tf.cast(rows, tf.float32)
    start = tf.minimum(start, rows - 1)
    stop = tf.maximum(stop, start + 1)
    return {PART: keras.tree.map_structure(lambda tensor: tensor[start:stop], batch), SHARE: share}
