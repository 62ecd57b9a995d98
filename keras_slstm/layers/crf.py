"""Linear-chain conditional random field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.layers._arguments import check_bool, check_features, check_integer
from keras_slstm.layers._weights import WeightArguments
from keras_slstm.ops.crf_log_space import is_first, is_last
from keras_slstm.ops.crf_potentials import FORBIDDEN, pack
from keras_slstm.ops.label_schemes import allowed_transitions
from keras_slstm.ops.masks import accumulation_dtype, check_mask, zero_padding
from keras_slstm.ops.sentence_state import project

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRF(WeightArguments, keras.layers.Layer):
    """Linear-chain conditional random field: scores of label sequences."""

    def __init__(
        self,
        units: int | None = None,
        chain_initializer: Any = "orthogonal",
        use_boundary: bool = True,
        boundary_initializer: Any = "zeros",
        use_kernel: bool = True,
        labels: Sequence[str] | None = None,
        scheme: str | None = None,
        pairwise: bool = False,
        engine: str = "keras",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        chain_regularizer: Any = None,
        boundary_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        chain_constraint: Any = None,
        boundary_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if self.compute_dtype in ("float16", "bfloat16"):
            self.dtype_policy = accumulation_dtype(self.compute_dtype)
        self.labels = None if labels is None else list(labels)
        if units is None and labels is not None:
            units = len(labels)
        self.units = check_integer("units", units, least=1)
        self.scheme = scheme
        self.use_boundary = check_bool("use_boundary", use_boundary)
        self.use_kernel = check_bool("use_kernel", use_kernel)
        self.pairwise = check_bool("pairwise", pairwise)
        self.engine = engine
        self.set_weight_arguments(
            chain_initializer=chain_initializer,
            boundary_initializer=boundary_initializer,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            chain_regularizer=chain_regularizer,
            boundary_regularizer=boundary_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            chain_constraint=chain_constraint,
            boundary_constraint=boundary_constraint,
        )
        self._allowed = None if scheme is None else allowed_transitions(self.labels, scheme)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        features = check_features(input_shape, self.name)
        units = self.units
        if self.use_kernel:
            self.kernel = self.add_weight_like("kernel", "kernel", (features, units))
            self.bias = self.add_weight_like("bias", "bias", (units,))
        self.chain_kernel = self.add_weight_like("chain", "chain_kernel", (units, units))
        if self.use_boundary:
            self.left_boundary = self.add_weight_like("boundary", "left_boundary", (units,))
            self.right_boundary = self.add_weight_like("boundary", "right_boundary", (units,))
        self.built = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        mask = check_mask(inputs, mask, self.name)
        x = zero_padding(inputs, mask)
        if mask is None:
            mask = ops.cast(ops.ones_like(x[..., 0]), "bool")
        unary = project(x, self.kernel) + self.bias if self.use_kernel else x
        first, last = is_first(mask)[..., None], is_last(mask)[..., None]
        zeros = ops.zeros_like(unary)
        if self.use_boundary:
            unary = unary + ops.where(first, self.left_boundary + zeros, zeros)
            unary = unary + ops.where(last, self.right_boundary + zeros, zeros)
        transitions = ops.convert_to_tensor(self.chain_kernel)
        if self._allowed is not None:
            unary = _forbid(unary, (first & ~self._allowed.first) | (last & ~self._allowed.last))
            transitions = _forbid(transitions, ~self._allowed.transitions)
        return pack(zero_padding(unary, mask), transitions, mask)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        return None

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        batch, time, _ = input_shape
        return (batch, None if time is None else time + self.units, self.units + 1)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "labels": self.labels,
            "scheme": self.scheme,
            "use_boundary": self.use_boundary,
            "use_kernel": self.use_kernel,
            "pairwise": self.pairwise,
            "engine": self.engine,
            **self.weight_config(),
        }


def _forbid(scores: Tensor, where: Any) -> Tensor:
    return ops.where(where, ops.full_like(scores, FORBIDDEN), scores)
