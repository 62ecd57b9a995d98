"""Operations that keep float64, where Keras' own take it to float32 on some backends (keras#23704).

Beside these, `@`, `+`, `*` and `/` do, unlike `keras.ops.matmul`, `add`, `multiply` and `divide`.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

Tensor = Any


def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent, in the dtype of `x`."""
    if keras.backend.backend() == "jax" and keras.backend.standardize_dtype(x.dtype) == "float64":
        import jax

        return jax.numpy.tanh(x)
    return ops.tanh(x)
