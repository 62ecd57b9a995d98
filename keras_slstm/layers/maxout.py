"""A hidden layer of maxout units."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.mlp import Dense
from keras_slstm.ops.backend.traceable import amax
from keras_slstm.types import Shape
from keras_slstm.validation import check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class Maxout(ConfigFromArguments, keras.layers.Layer):
    """Maxout layer (Goodfellow et al., 2013): the maximum of each group of `reduction` adjacent features of x W + b.

    x W + b has as many features as x, as in the Biattentive Classification Network.

    Args:
        reduction: The size of a group. It must divide the number of features.

    Input: `(batch, features)`. Output: `(batch, features / reduction)`, in the compute dtype.

    Weights: `dense.kernel` `(features, features)`, `dense.bias` `(features,)`. Unit j is the maximum of the columns
    `reduction * j` to `reduction * j + reduction - 1`.

    Raises:
        ValueError: If `reduction` is not a positive integer, or does not divide the number of features.
    """

    def __init__(self, reduction: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.reduction = check_integer("reduction", reduction, 1)

    def build(self, input_shape: Shape) -> None:
        features = input_shape[-1]
        if not features or features % self.reduction:
            raise ValueError(f"`reduction` must divide the number of features, {features}, but got {self.reduction}.")
        self.dense = Dense(features, dtype=self.dtype_policy)
        self.dense.build(input_shape)
        self.built = True

    def call(self, inputs: Any) -> Any:
        pieces = ops.reshape(self.dense(inputs), (-1, inputs.shape[-1] // self.reduction, self.reduction))
        return amax(pieces, axis=-1)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-1], input_shape[-1] // self.reduction)  # type: ignore[operator]
