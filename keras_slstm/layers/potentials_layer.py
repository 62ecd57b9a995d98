"""Base class of the layers that output the scores of a conditional random field."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.weight_arguments import WeightArguments
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.types import Tensor


class PotentialsLayer(WeightArguments, keras.layers.Layer):
    """Base class of the CRF layers: they compute in at least float32 and return no Keras mask."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dtype_policy: Any = at_least_float32(self.dtype_policy)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True

    def add_boundary_weights(self, labels: int, left: bool, right: bool) -> None:
        """Create the scores of the first and of the last label, `(labels,)` each."""
        if left:
            self.left_boundary = self.add_weight_like("boundary", "left_boundary", (labels,))
        if right:
            self.right_boundary = self.add_weight_like("boundary", "right_boundary", (labels,))

    def masked_words(self, inputs: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The input, zero at masked positions, and the mask, `(batch, time)` bool, which is never None."""
        h, mask = masked_inputs(self, inputs, mask)
        return h, ops.ones(ops.shape(h)[:2], dtype="bool") if mask is None else mask

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        return None


def at_least_float32(policy: Any) -> Any:
    """Return the policy, or float32 for a half-precision one: a CRF subtracts large sums."""
    dtype = accumulation_dtype(policy.compute_dtype)
    return policy if dtype == policy.compute_dtype else keras.dtype_policies.get(dtype)
