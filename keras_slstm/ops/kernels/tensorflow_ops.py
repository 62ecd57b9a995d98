"""Operations with a faster form for TensorFlow graphs, which fuse nothing, so that each pass over memory counts.

Other backends run the plain Keras operations.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.types import Tensor


def add_all(terms: Sequence[Tensor]) -> Tensor:
    """Sum one or more tensors of the same shape."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.add_n(terms)
    return functools.reduce(operator.add, terms)


def sigmoid_gradient(y: Tensor, d_y: Tensor) -> Tensor:
    """`d_y * y * (1 - y)`: the gradient through `y = sigmoid(x)`."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.raw_ops.SigmoidGrad(y=y, dy=d_y)
    return d_y * y * (1 - y)


def slice_along(x: Tensor, start: int, size: Any, axis: int = 0) -> Tensor:
    """Take `size` positions from `start` on; the gradient of a strided slice would be several times slower."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        sizes = list(ops.shape(x))
        sizes[axis] = size
        return tf.slice(x, [start if i == axis else 0 for i in range(len(sizes))], sizes)
    return x[(slice(None),) * axis + (slice(start, start + size),)]


def gather_rows(table: Tensor, index: Tensor) -> Tensor:
    """Take rows of a table `(n, d)`, each many times, as `(k, d)`. The gradient is a product with a one-hot matrix."""
    if keras.backend.backend() != "tensorflow":
        return ops.take(table, index, axis=0)
    import tensorflow as tf

    @tf.custom_gradient
    def take(table: Tensor) -> Any:
        def gradient(d_rows: Tensor) -> Tensor:
            return tf.one_hot(index, tf.shape(table)[0], axis=0, dtype=d_rows.dtype) @ d_rows

        return tf.gather(table, index), gradient

    return take(table)


def replace_rows(table: Tensor, index: Tensor, rows: Tensor) -> Tensor:
    """Replace the rows of a table `(n, d)` at the distinct indices `index`.

    The gradient of the table is multiplied by zero at these rows, which needs no second copy of it.
    """
    if keras.backend.backend() != "tensorflow":
        return ops.scatter_update(table, index[:, None], rows)
    import tensorflow as tf

    @tf.custom_gradient
    def replace(table: Tensor, rows: Tensor) -> Any:
        def gradient(d_table: Tensor) -> tuple[Tensor, Tensor]:
            kept = tf.ones([tf.shape(d_table)[0], 1], d_table.dtype)
            kept = tf.tensor_scatter_nd_update(kept, index[:, None], tf.zeros([tf.size(index), 1], d_table.dtype))
            return d_table * kept, tf.gather(d_table, index)

        return tf.tensor_scatter_nd_update(table, index[:, None], rows), gradient

    return replace(table, rows)
