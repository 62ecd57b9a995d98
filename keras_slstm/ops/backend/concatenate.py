"""Tensors one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from keras_slstm.ops.export_mode import in_export_mode
from keras_slstm.types import Tensor


def concatenate(parts: Sequence[Tensor], axis: int) -> Tensor:
    """`ops.concatenate` of tensors of one dtype; on JAX in export mode, by the operation that jax2onnx converts right.

    jax2onnx (0.17) gives the result of `jnp.concatenate` the size of its first part if that is unknown.
    """
    if in_export_mode() and keras.backend.backend() == "jax":
        import jax

        return jax.lax.concatenate([*parts], axis % parts[0].ndim)
    return ops.concatenate([*parts], axis=axis)
