"""Places of the largest numbers."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.types import Tensor


def argmax(x: Tensor, axis: int) -> Tensor:
    """The place of the largest number along an axis, int32; of equal ones the first."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # That of Keras looks at the bits of floats, by operations that LiteRT and TensorFlow.js do not have.
        return tf.argmax(x, axis, output_type=tf.int32)
    return ops.cast(ops.argmax(x, axis=axis), "int32")
