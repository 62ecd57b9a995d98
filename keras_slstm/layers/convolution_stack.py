"""Stacked convolutions over words."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.ops.masks import zero_padding
from keras_slstm.validation import check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class ConvolutionStack(keras.layers.Layer):
    """Convolutions over neighbouring words, one on top of the other: `x = relu(conv(x))`.

    Words outside the sentence, and masked ones, are zero vectors in every layer.

    Args:
        units: Number of filters of each layer.
        num_layers: Number of layers.
        window: Number of words that a filter sees, an odd number.

    Input: `(batch, time, features)`, mask `(batch, time)`. Output: `(batch, time, units)`, zero at masked positions.

    Raises:
        ValueError: If an argument is out of range.
    """

    def __init__(self, units: int, num_layers: int = 3, window: int = 3, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = check_integer("units", units, 1)
        self.num_layers = check_integer("num_layers", num_layers, 1)
        self.window = check_integer("window", window, 1)
        if window % 2 == 0:
            raise ValueError(f"`window` must be odd, so that it has a middle, but got {window!r}.")
        self.convolutions = [
            keras.layers.Conv1D(units, window, padding="same", activation="relu", dtype=self.dtype_policy)
            for _ in range(num_layers)
        ]
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        for convolution in self.convolutions:
            convolution.build(input_shape)
            input_shape = (*input_shape[:-1], self.units)
        self.built = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        x, mask = masked_inputs(self, inputs, mask)
        if 0 in x.shape[:2]:  # PyTorch cannot convolve nothing
            return ops.zeros((*ops.shape(x)[:2], self.units), dtype=x.dtype)
        for convolution in self.convolutions:
            x = zero_padding(convolution(x), mask)
        return x

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-1], self.units)

    def get_config(self) -> dict[str, Any]:
        config = {"units": self.units, "num_layers": self.num_layers, "window": self.window}
        return {**super().get_config(), **config}
