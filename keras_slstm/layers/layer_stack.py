"""Applies layers to a sequence one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.types import Shape


@keras.saving.register_keras_serializable(package="keras_slstm")
class LayerStack(ConfigFromArguments, keras.layers.Layer):
    """Applies layers to a sequence one after another, each with the mask of the input.

    `keras.Sequential` relies on every layer to pass the mask on, and some recurrent layers do not.

    Args:
        layers: The layers, lowest first. Each takes `(batch, time, features)` and a `mask`.

    Raises:
        ValueError: If `layers` is empty.
    """

    def __init__(self, layers: Sequence[keras.layers.Layer], **kwargs: Any):
        super().__init__(**kwargs)
        if not layers:
            raise ValueError(f"`layers` must contain at least one layer, but got {layers!r}.")
        self.layers = list(layers)
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        for layer in self.layers:
            if not layer.built:  # a layer from a config may be built already
                layer.build(input_shape)
            input_shape = layer.compute_output_shape(input_shape)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        x = inputs
        for layer in self.layers:
            x = layer(x, mask=mask, training=training)
        return x

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        for layer in self.layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if len(self.compute_output_shape(inputs.shape)) == 3 else None
