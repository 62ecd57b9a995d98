"""Adds trained boundary words to the sentences that a layer reads."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.ops.boundary_words import add_boundary_words
from keras_slstm.ops.masks import check_mask, zero_padding
from keras_slstm.types import Shape


@keras.saving.register_keras_serializable(package="keras_slstm")
class BoundaryWords(ConfigFromArguments, keras.layers.Layer):
    """Wraps a layer so that it reads a trained `<s>` before the first real word and `</s>` after the last one.

    Args:
        layer: A layer that takes `(batch, time, features)` and a `mask`. If it returns a sequence, the boundary words
            are removed from it.
    """

    def __init__(self, layer: keras.layers.Layer, **kwargs: Any):
        super().__init__(**kwargs)
        self.layer = layer
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        batch, time, features = input_shape
        self.boundary_embeddings = self.add_weight(
            name="boundary_embeddings", shape=(2, features), initializer="uniform"
        )
        if not self.layer.built:  # a layer from a config may be built already
            self.layer.build((batch, None if time is None else time + 2, features))
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        mask = check_mask(inputs, mask, self.name)
        x, extended_mask = add_boundary_words(inputs, mask, self.boundary_embeddings)
        x = self.layer(x, mask=extended_mask, training=training)
        return zero_padding(x[:, 1:-1], mask) if len(x.shape) == 3 else x

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return self.layer.compute_output_shape(input_shape)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if len(self.compute_output_shape(inputs.shape)) == 3 else None
