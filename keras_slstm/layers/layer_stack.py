"""Layers over a sequence, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras


@keras.saving.register_keras_serializable(package="keras_slstm")
class LayerStack(keras.layers.Layer):
    """Layers over a sequence, one after the other, every one with the mask of the input.

    `keras.Sequential` relies on each layer to pass the mask on, which recurrent layers do not always.

    Args:
        layers: The layers, bottom first. Each takes `(batch, time, features)` and a `mask`.

    Raises:
        ValueError: If there is no layer.
    """

    def __init__(self, layers: Sequence[keras.layers.Layer], **kwargs: Any):
        super().__init__(**kwargs)
        if not layers:
            raise ValueError("`layers` is empty.")
        self.layers = list(layers)
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        for layer in self.layers:
            if not layer.built:  # as one from a config may be
                layer.build(input_shape)
            input_shape = layer.compute_output_shape(input_shape)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        x = inputs
        for layer in self.layers:
            x = layer(x, mask=mask, training=training)
        return x

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        for layer in self.layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if len(self.compute_output_shape(inputs.shape)) == 3 else None

    def get_config(self) -> dict[str, Any]:
        layers = [keras.saving.serialize_keras_object(layer) for layer in self.layers]
        return {**super().get_config(), "layers": layers}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LayerStack:
        layers = [keras.saving.deserialize_keras_object(layer) for layer in config["layers"]]
        return cls(**{**config, "layers": layers})
