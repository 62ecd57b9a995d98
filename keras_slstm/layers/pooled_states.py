"""Pooled states of a graph recurrent network."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.ops.masks import check_mask, masked_max, masked_mean


@keras.saving.register_keras_serializable(package="keras_slstm")
class PooledStates(keras.layers.Layer):
    """The features of eq. 15 of the depth-adaptive GRN: `relu([max_i h_i; mean_i h_i; g])`, over the real words.

    Args:
        layer: A layer that returns h, `(batch, time, units)`, then g, `(batch, units)`, such as `DepthAdaptiveGRN` or
            `SLSTM` with `return_sequences` and `return_state`.

    Returns:
        `(batch, 3 * units)`. A row without a real word gives zeros.

    Raises:
        ValueError: If the layer does not return sequences and states.
    """

    def __init__(self, layer: keras.layers.Layer, **kwargs: Any):
        super().__init__(**kwargs)
        for name in ("return_sequences", "return_state"):
            if not getattr(layer, name, False):
                raise ValueError(f"`layer` must return h and g, but {layer.name} has not {name}=True.")
        self.layer = layer
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        if not self.layer.built:  # as one from a config may be
            self.layer.build(input_shape)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        mask = check_mask(inputs, mask, self.name)
        h, g, *_ = self.layer(inputs, mask=mask, training=training)
        return ops.relu(ops.concatenate([masked_max(h, mask), masked_mean(h, mask), g], axis=-1))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        words, *_ = self.layer.compute_output_shape(input_shape)
        return (words[0], 3 * words[-1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> PooledStates:
        return cls(**{**config, "layer": keras.saving.deserialize_keras_object(config["layer"])})
