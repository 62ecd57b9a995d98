"""Base class of the layers over the characters of words."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.types import Shape, Tensor


class CharacterLayer(keras.layers.Layer):
    """Base class of layers that encode the characters of each word as one vector, independently of other words.

    A subclass sets `output_size`, builds its weights, and defines `encode`.
    """

    output_size: int

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.input_spec = keras.layers.InputSpec(ndim=4)
        self.supports_masking = True

    def encode(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Encode words `(words, characters, features)`, zero where masked, as `(words, output_size)`."""
        raise NotImplementedError

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        x, mask = masked_inputs(self, inputs, mask, axes=("batch", "time", "characters"))
        batch, time, characters, features = ops.shape(inputs)
        words = ops.reshape(x, (batch * time, characters, features))
        mask = None if mask is None else ops.reshape(mask, (batch * time, characters))
        return ops.reshape(self.encode(words, mask), (batch, time, self.output_size))

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return None if mask is None else ops.any(mask, axis=-1)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:2], self.output_size)
