"""Sinusoidal codes of positions or depths (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops.backend.precision import cos, sin
from keras_slstm.types import Tensor


def sinusoidal_code(numbers: Tensor, size: int, dtype: str) -> Tensor:
    """Code each number n by `sin(n / 10000^(2j / size))` in dimension 2j and the same cosine in dimension 2j + 1.

    Args:
        numbers: A tensor of numbers, of any shape.
        size: Number of dimensions.
        dtype: The dtype of the result, which is computed in at least float32: float16 cannot represent large positions.

    Returns:
        A tensor of shape `(*numbers.shape, size)`.
    """
    wide = "float64" if keras.backend.standardize_dtype(dtype) == "float64" else "float32"
    pairs = -(-size // 2)
    wavelengths = [10_000.0 ** (2 * pair / size) for pair in range(pairs)]
    angles = ops.expand_dims(ops.cast(numbers, wide), -1) / ops.convert_to_tensor(wavelengths, dtype=wide)
    code = ops.stack([sin(angles), cos(angles)], axis=-1)
    code = ops.reshape(code, (*ops.shape(code)[:-2], 2 * pairs))
    return ops.cast(code[..., :size], dtype)
