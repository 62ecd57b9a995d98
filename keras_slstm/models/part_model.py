"""A part of a text model as a separate model, so that Keras compiles it."""

from __future__ import annotations

from typing import Any

import keras


class PartModel(keras.Model):
    """Base class of models whose `call` runs a part of another model, with its weights, dtype policy and `jit_compile`.

    Its `predict_on_batch` compiles the part once for each shape. Outside a compiled function, JAX would compile the
    loops of recurrent layers again at every call.

    Args:
        model: The other model.
        name: The name of this one.
    """

    def __init__(self, model: Any, name: str):
        super().__init__(name=name, dtype=model.dtype_policy)
        self.model = model
        self.jit_compile = model.jit_compile
        self.built = True
