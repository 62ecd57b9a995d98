"""A recurrent layer that reads trained words around the sentence."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.ops.boundary_words import add_boundary_words
from keras_slstm.ops.masks import check_mask, zero_padding


@keras.saving.register_keras_serializable(package="keras_slstm")
class BoundaryWords(keras.layers.Layer):
    """A recurrent layer that reads a trained `<s>` before the first and `</s>` after the last real word.

    Args:
        layer: The layer. It takes `(batch, time, features)` and a `mask`; of a returned sequence, the boundary words
            are dropped again.
    """

    def __init__(self, layer: keras.layers.Layer, **kwargs: Any):
        super().__init__(**kwargs)
        self.layer = layer
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        batch, time, features = input_shape
        self.boundary_embeddings = self.add_weight(
            name="boundary_embeddings", shape=(2, features), initializer="uniform"
        )
        if not self.layer.built:  # as one from a config may be
            self.layer.build((batch, None if time is None else time + 2, features))
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        mask = check_mask(inputs, mask, self.name)
        x, present = add_boundary_words(inputs, mask, self.boundary_embeddings)
        x = self.layer(x, mask=present, training=training)
        return zero_padding(x[:, 1:-1], mask) if len(x.shape) == 3 else x

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return self.layer.compute_output_shape(input_shape)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if len(self.compute_output_shape(inputs.shape)) == 3 else None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> BoundaryWords:
        return cls(**{**config, "layer": keras.saving.deserialize_keras_object(config["layer"])})
