"""Soft alignment of the words of two sentences by their inner products."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.masks import masked_softmax, zero_padding
from keras_slstm.types import Tensor


def align(a: Tensor, b: Tensor, b_mask: Tensor | None) -> Tensor:
    """Align each word a_i with the words b_j of another sentence: the mean of b_j, weighted by softmax_j(a_i . b_j).

    Args:
        a: `(batch, time, features)`.
        b: `(batch, other time, features)`.
        b_mask: `(batch, other time)` bool, True at real words of b, or None.

    Returns:
        A tensor with the shape and dtype of `a`; zeros where b has no real words. Sums run in at least float32.
    """
    dtype = keras.backend.standardize_dtype(a.dtype)
    wide = accumulation_dtype(dtype)
    b = ops.cast(zero_padding(b, b_mask), wide)
    scores = ops.cast(a, wide) @ ops.transpose(b, (0, 2, 1))
    return ops.cast(masked_softmax(scores, None if b_mask is None else ops.expand_dims(b_mask, 1)) @ b, dtype)
