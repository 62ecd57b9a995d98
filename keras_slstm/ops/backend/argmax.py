"""Arg max, by operations that exported models support."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.types import Tensor


def argmax(x: Tensor, axis: int) -> Tensor:
    """The index of the largest number along an axis, int32; the first of equal numbers."""
    # Keras' own reads the bits of floats, with operations that LiteRT, TensorFlow.js and onnxruntime lack.
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.argmax(x, axis, output_type=tf.int32)
    if keras.backend.backend() == "jax":
        import jax.numpy as jnp

        return jnp.argmax(x, axis).astype("int32")
    return ops.cast(ops.argmax(x, axis=axis), "int32")
