"""Operations that keep float64, where Keras' own take it to float32 on some backends (keras#23704).

Beside these, `@`, `+`, `*` and `/` do, unlike `keras.ops.matmul`, `add`, `multiply` and `divide`.
"""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.types import Tensor


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
    if keras.backend.backend() == "jax" and keras.backend.standardize_dtype(x.dtype) == "float64":
        import jax

        return getattr(jax.numpy, name)(x)
    return getattr(ops, name)(x)
