"""Attention over the positions of another sequence (Luong, Pham, Manning: Effective Approaches, EMNLP 2015)."""

from __future__ import annotations

from typing import NamedTuple

import keras
from keras import ops

from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.masks import masked_softmax, zero_padding
from keras_slstm.types import Tensor


class Memory(NamedTuple):
    """The encoded words that a decoder attends to, prepared for many queries.

    Attributes:
        values: The sequence m, `(batch, time, m)`, zero at masked positions, in at least float32.
        keys: m W_a^T, `(batch, time, d)`, likewise.
        mask: `(batch, 1, time)` bool, or None.
    """

    values: Tensor
    keys: Tensor
    mask: Tensor | None


def remember(values: Tensor, mask: Tensor | None, kernel: Tensor) -> Memory:
    """Prepare a memory for `attend`: compute the part that all queries share.

    Args:
        values: `(batch, time, m)`.
        mask: `(batch, time)` bool, True at real positions, or None.
        kernel: W_a, `(d, m)`.
    """
    wide = accumulation_dtype(keras.backend.standardize_dtype(values.dtype))
    values = zero_padding(values, mask)
    keys = values @ ops.transpose(ops.cast(kernel, values.dtype))
    return Memory(ops.cast(values, wide), ops.cast(keys, wide), None if mask is None else ops.expand_dims(mask, 1))


def attend(h: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
    """Luong's global attention with the general score (eq. 7 and 8).

        score(h, m_s) = h W_a m_s,   a = softmax of the scores over the real s,   c = sum_s a(s) m_s

    Args:
        h: The queries, `(batch * n, d)`: n adjacent ones for each sequence of the memory.
        memory: See `remember`.

    Returns:
        c, `(batch * n, m)`, in the dtype of `h`, and a, `(batch, n, time)`; zeros where no position is real.
    """
    queries = ops.reshape(ops.cast(h, memory.keys.dtype), (ops.shape(memory.keys)[0], -1, h.shape[-1]))
    weights = masked_softmax(queries @ ops.transpose(memory.keys, (0, 2, 1)), memory.mask)
    context = ops.reshape(weights @ memory.values, (-1, memory.values.shape[-1]))
    return ops.cast(context, h.dtype), weights
