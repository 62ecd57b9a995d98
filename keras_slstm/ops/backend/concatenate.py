"""Concatenation that jax2onnx converts correctly."""

from __future__ import annotations

from collections.abc import Sequence

from keras import ops

from keras_slstm.ops.backend.jax_export import in_jax_export
from keras_slstm.types import Tensor


def concatenate(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Like `ops.concatenate` for tensors of one dtype, but converted correctly by jax2onnx in export mode.

    jax2onnx (0.17) gives the result of `jnp.concatenate` the size of its first part if that size is unknown.
    """
    if in_jax_export():
        import jax

        return jax.lax.concatenate([*parts], axis % parts[0].ndim)
    return ops.concatenate([*parts], axis=axis)
