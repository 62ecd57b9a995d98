"""The second input of the text models: contextual word vectors, such as CoVe."""

from __future__ import annotations

import inspect
from typing import Any

import keras

from keras_slstm.text.contextual_vectors import call_contextual

PROBE = "a"  # a one-token sentence that reveals the size of the vectors


def check_contextual(contextual: Any, trainable: bool) -> None:
    """Raise ValueError unless `contextual` is None, a layer that takes a mask, or an untrained function."""
    if isinstance(contextual, keras.layers.Layer):
        if "mask" not in inspect.signature(contextual.call).parameters:
            raise ValueError(
                f"`contextual` must take a `mask`, but the layer {contextual.name!r} does not: padding would count as "
                "words."
            )
        return
    if contextual is not None and not callable(contextual):
        raise ValueError(f"`contextual` must be a Keras layer, a function or None, but got {contextual!r}.")
    if trainable:
        raise ValueError(f"`trainable_contextual` needs a Keras layer as `contextual`, but got {contextual!r}.")


def contextual_features(contextual: Any, embedding_dim: int, dtype: str) -> int:
    """Return the size of the contextual vectors; build a layer for word vectors of this size and dtype.

    Raises:
        ValueError: If the layer does not return word vectors, or the function does not return valid arrays.
    """
    if contextual is None:
        return 0
    if not isinstance(contextual, keras.layers.Layer):
        return call_contextual(contextual, [[PROBE]])[0].shape[1]
    words = keras.KerasTensor((None, None, embedding_dim), dtype=dtype)
    shape = getattr(contextual(words, mask=keras.KerasTensor((None, None), dtype="bool")), "shape", None)
    if shape is None or len(shape) != 3 or shape[2] is None:
        raise ValueError(
            f"`contextual` must return word vectors (batch, time, features), but {contextual.name!r} returns {shape}."
        )
    return int(shape[2])
