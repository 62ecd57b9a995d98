"""Turns a decoder into a layer with one input, which attends to the sentence that it reads."""

from __future__ import annotations

from typing import Any

import keras


@keras.saving.register_keras_serializable(package="tests")
class SelfAttending(keras.layers.Layer):
    def __init__(self, decoder: keras.layers.Layer, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.decoder = decoder
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        if not self.decoder.built:
            self.decoder.build(input_shape, input_shape)
        self.built = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        return self.decoder(inputs, inputs, mask=mask, memory_mask=mask)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return self.decoder.compute_output_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "decoder": keras.saving.serialize_keras_object(self.decoder)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SelfAttending:
        return cls(**{**config, "decoder": keras.saving.deserialize_keras_object(config["decoder"])})
