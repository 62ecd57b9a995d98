"""Whether a model is being exported from JAX: jax2onnx converts only some forms of an operation correctly."""

from __future__ import annotations

import keras

from keras_slstm.ops.export_mode import in_export_mode


def in_jax_export() -> bool:
    """Return whether export mode is on and Keras runs on JAX."""
    return in_export_mode() and keras.backend.backend() == "jax"
