"""Positions of the largest numbers."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.types import Tensor


def argmax(x: Tensor, axis: int) -> Tensor:
    """The position of the largest number along an axis, int32; the first of equal ones."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # Keras' own reads the bits of floats, by operations that LiteRT and TensorFlow.js lack.
        return tf.argmax(x, axis, output_type=tf.int32)
    return ops.cast(ops.argmax(x, axis=axis), "int32")
