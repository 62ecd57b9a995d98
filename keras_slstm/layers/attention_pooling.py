"""Additive attention over the real words of a sentence."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.backend.precision import accumulation_dtype, tanh
from keras_slstm.ops.masks import masked_softmax
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_features, check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class AttentionPooling(WeightArguments, keras.layers.Layer):
    """Sum of a sentence's word states, weighted by additive attention with a trained query.

        eps_t = tanh(h_t W + b)
        alpha = softmax over the real words of eps_t . u
        output = sum_t alpha_t h_t

    Masked positions have weight 0 and a gradient of exactly zero, whatever their values. The softmax and the sum run in
    at least float32.

    Args:
        units: Size a of the attention space. Default: the number of input features.
        kernel_initializer, bias_initializer, query_initializer: Initialisers of W, b and u.
        kernel_regularizer, bias_regularizer, query_regularizer: Their regularisers.
        kernel_constraint, bias_constraint, query_constraint: Their constraints.

    Call arguments:
        inputs: Word states h, `(batch, time, features)`.
        mask: `(batch, time)` bool, True at real words; None if all are real. Padding may be anywhere.
        return_attention_scores: Whether to return alpha as well.

    Returns:
        `(batch, features)` in the compute dtype; a row without a real word gives zeros. With
        `return_attention_scores`, a pair of this and alpha, `(batch, time)`.

    Raises:
        ValueError: If `units` is not a positive integer or None, the input is not of rank 3 or its number of
            features is unknown, or the mask does not match it.

    Weights:
        kernel: W, `(features, a)`.
        bias: b, `(a,)`.
        query: u, `(a,)`.

    Example:

    ```python
    words = keras.Input((None, 300))
    states = keras_slstm.layers.SLSTM(300, return_sequences=True)(words)
    sentence = keras_slstm.layers.AttentionPooling()(states)  # (batch, 300)
    ```
    """

    def __init__(
        self,
        units: int | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        query_initializer: Any = "glorot_uniform",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        query_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        query_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = None if units is None else check_integer("units", units, least=1)
        self.set_weight_arguments(locals())
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        features = check_features(input_shape, self.name)
        units = self.units or features
        self.kernel = self.add_weight_like("kernel", "kernel", (features, units))
        self.bias = self.add_weight_like("bias", "bias", (units,))
        self.query = self.add_weight_like("query", "query", (units,))
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: features})
        self.built = True

    def call(self, inputs: Tensor, mask: Tensor | None = None, return_attention_scores: bool = False) -> Any:
        h, mask = masked_inputs(self, inputs, mask)
        eps = tanh(h @ ops.convert_to_tensor(self.kernel) + self.bias)
        wide = accumulation_dtype(self.compute_dtype)
        scores = (ops.cast(eps, wide) @ ops.expand_dims(ops.cast(self.query, wide), 1))[..., 0]
        alpha = masked_softmax(scores, mask)
        output = ops.cast(ops.sum(ops.expand_dims(alpha, -1) * ops.cast(h, wide), axis=1), self.compute_dtype)
        if return_attention_scores:
            return output, ops.cast(alpha, self.compute_dtype)
        return output

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        return None

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], input_shape[2])

    def compute_output_spec(
        self, inputs: Tensor, mask: Tensor | None = None, return_attention_scores: bool = False
    ) -> Any:
        output = keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype=self.compute_dtype)
        if return_attention_scores:
            return output, keras.KerasTensor(inputs.shape[:2], dtype=self.compute_dtype)
        return output
