"""Stacked convolutions over words."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.ops.masks import pad_empty, pad_empty_axis, zero_padding
from keras_slstm.types import Shape
from keras_slstm.validation import check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class ConvolutionStack(ConfigFromArguments, keras.layers.Layer):
    """Stacked convolutions over neighbouring words: `x = relu(conv(x))` in every layer.

    Positions outside the sentence and masked positions are zero vectors in every layer.

    Args:
        units: Number of filters in each layer.
        num_layers: Number of layers.
        kernel_size: Number of words that a filter covers; odd.

    Input: `(batch, time, features)`, mask `(batch, time)`. Output: `(batch, time, units)`, zero at masked positions.

    Raises:
        ValueError: If an argument is out of range.
    """

    former_names = {"window": "kernel_size"}

    def __init__(self, units: int, num_layers: int = 3, kernel_size: int = 3, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = check_integer("units", units, 1)
        self.num_layers = check_integer("num_layers", num_layers, 1)
        self.kernel_size = check_integer("kernel_size", kernel_size, 1)
        if kernel_size % 2 == 0:
            raise ValueError(f"`kernel_size` must be odd, so that a filter has a centre, but got {kernel_size!r}.")
        self.convolutions = [
            keras.layers.Conv1D(units, kernel_size, padding="same", activation="relu", dtype=self.dtype_policy)
            for _ in range(num_layers)
        ]
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        for convolution in self.convolutions:
            convolution.build(input_shape)
            input_shape = (*input_shape[:-1], self.units)
        self.built = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        x, mask = masked_inputs(self, inputs, mask)
        batch, time = ops.shape(x)[:2]
        x, mask = pad_empty(x, mask)  # no backend convolves an empty tensor correctly
        x, mask = pad_empty_axis(x, 0), None if mask is None else pad_empty_axis(mask, 0)
        for convolution in self.convolutions:
            x = zero_padding(convolution(x), mask)
        return x[:batch, :time]

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-1], self.units)
