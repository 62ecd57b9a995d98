"""Pooled states of a graph recurrent network."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.ops.masks import check_mask, masked_max, masked_mean
from keras_slstm.types import Shape


@keras.saving.register_keras_serializable(package="keras_slstm")
class PooledStates(ConfigFromArguments, keras.layers.Layer):
    """Pools word states and appends the sentence state: `[max_i h_i; mean_i h_i; g]`, over the real words.

    With the default activation, these are the features of eq. 15 of the depth-adaptive GRN paper.

    Args:
        layer: A layer that returns h, `(batch, time, units)`, then g, `(batch, units)`, such as `DepthAdaptiveGRN` or
            `SLSTM` with `return_sequences` and `return_state`.
        activation: Name of the activation of the features, or None.

    Returns:
        `(batch, 3 * units)`. A row without real words gives the activation of zeros.

    Raises:
        ValueError: If the layer does not return sequences and states.
    """

    def __init__(self, layer: keras.layers.Layer, activation: str | None = "relu", **kwargs: Any):
        super().__init__(**kwargs)
        for name in ("return_sequences", "return_state"):
            if not getattr(layer, name, False):
                raise ValueError(f"`layer` must return h and g, but {layer.name} does not have {name}=True.")
        self.layer = layer
        self.activation = activation
        self._activate = keras.activations.get(activation)
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        if not self.layer.built:  # a layer from a config may be built already
            self.layer.build(input_shape)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        mask = check_mask(inputs, mask, self.name)
        h, g, *_ = self.layer(inputs, mask=mask, training=training)
        return self._activate(ops.concatenate([masked_max(h, mask), masked_mean(h, mask), g], axis=-1))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        words, *_ = self.layer.compute_output_shape(input_shape)
        return (words[0], 3 * words[-1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        return None
