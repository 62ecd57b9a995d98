"""Functions that preserve float64 and accumulate in at least float32."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.types import Tensor


def accumulation_dtype(dtype: str) -> str:
    """The dtype in which sums over many words run: at least float32."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent, in the dtype of `x`."""
    return _apply("tanh", x)


def sin(x: Tensor) -> Tensor:
    """Sine, in the dtype of `x`."""
    return _apply("sin", x)


def cos(x: Tensor) -> Tensor:
    """Cosine, in the dtype of `x`."""
    return _apply("cos", x)


def _apply(name: str, x: Tensor) -> Tensor:
    # On JAX, these functions of `keras.ops` round float64 to float32 (keras#23704).
    if keras.backend.backend() == "jax" and keras.backend.standardize_dtype(x.dtype) == "float64":
        import jax

        return getattr(jax.numpy, name)(x)
    return getattr(ops, name)(x)
