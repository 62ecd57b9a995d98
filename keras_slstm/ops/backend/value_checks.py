"""Checks the values of tensors: an error if they are known or can be asserted, NaN otherwise."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from keras_slstm.ops.backend.eager import torch_compiles
from keras_slstm.types import Tensor


def check_values(values: Tensor, valid: Tensor, expected: str) -> Tensor | None:
    """Reject a tensor with an invalid value.

    Eager code raises immediately. A TensorFlow graph asserts while it runs. XLA drops assertions, and functions that
    JAX and `torch.compile` trace have none: there, the caller makes its result NaN where `valid` is False, which stops
    a training run.

    Args:
        values: The tensor.
        valid: Bool, of the same shape, whether each value is valid.
        expected: The expected values, for the message: "labels from 0 to 8".

    Returns:
        None if all values are valid; `valid` if they are known only when the compiled function runs.

    Raises:
        ValueError: If a known value is invalid; the message contains the value and its position.
    """
    seen = value_of(valid)
    if seen is None:
        _assert_in_graph(values, valid, expected)
        return valid
    if not np.all(seen):
        position = tuple(int(i) for i in np.argwhere(~seen)[0])
        wrong = np.asarray(ops.convert_to_numpy(values))[position]
        raise ValueError(f"Expected {expected}, but got {wrong} at position {position}.")
    return None


def nan_unless(valid: Tensor | None, x: Tensor) -> Tensor:
    """Set the rows of `x`, `(batch, ...)`, to NaN where `valid`, `(batch,)`, is False; None means all are valid."""
    if valid is None:
        return x
    rows = ops.reshape(valid, (-1, *(1 for _ in x.shape[1:])))
    return ops.where(rows, x, ops.full_like(x, float("nan")))


def value_of(x: Tensor) -> np.ndarray | None:
    """The value of a tensor, or None while a function is traced."""
    if torch_compiles():  # it would trace the conversion to NumPy, too
        return None
    try:
        return np.asarray(ops.convert_to_numpy(x))
    except Exception:  # each backend has its own
        return None


def _assert_in_graph(values: Tensor, valid: Tensor, expected: str) -> None:
    if keras.backend.backend() != "tensorflow":
        return
    import tensorflow as tf

    # An empty tensor has no first element: append a valid one.
    flat = tf.concat([tf.reshape(values, (-1,)), tf.zeros((1,), values.dtype)], axis=0)
    is_valid = tf.concat([tf.reshape(valid, (-1,)), [True]], axis=0)
    wrong = flat[tf.argmin(tf.cast(is_valid, "int32"))]
    tf.debugging.Assert(tf.reduce_all(is_valid), [f"Expected {expected}, but got", wrong])
