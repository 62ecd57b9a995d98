"""A hidden layer that takes the largest of a few linear maps."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.mlp import Dense
from keras_slstm.validation import check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class Maxout(keras.layers.Layer):
    """Hidden layer with fewer units than features: of x W + b, as wide as x, the largest of each `reduction` in a row.

    Goodfellow et al. (2013); with this shape in the Biattentive Classification Network.

    Args:
        reduction: How many times fewer units than features there are. It divides the number of features.

    Input: `(batch, features)`. Output: `(batch, features / reduction)`, in the compute dtype.

    Weights: `dense.kernel` `(features, features)`, `dense.bias` `(features,)`; unit j is the maximum of the columns
    from `reduction * j` on.

    Raises:
        ValueError: If `reduction` is not a positive integer, or does not divide the number of features.
    """

    def __init__(self, reduction: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.reduction = check_integer("reduction", reduction, 1)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        features = input_shape[-1]
        if not features or features % self.reduction:
            raise ValueError(f"`reduction` must divide the number of features, {features}, but got {self.reduction}.")
        self.dense = Dense(features, dtype=self.dtype_policy)
        self.dense.build(input_shape)
        self.built = True

    def call(self, inputs: Any) -> Any:
        pieces = ops.reshape(self.dense(inputs), (-1, inputs.shape[-1] // self.reduction, self.reduction))
        return ops.max(pieces, axis=-1)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-1], input_shape[-1] // self.reduction)  # type: ignore[operator]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "reduction": self.reduction}
