"""SuBiLSTM (Brahma, 2018): an LSTM or a GRU that starts at the first word, and one that starts at every word.

Sequences are time-major, `(time, batch, ...)`, and in reading order: from left to right for the forward
direction, where "from the first word" gives the prefixes p> (eq. 1) and "from every word" the suffixes s> (eq. 2); from
right to left for the backward direction, where they give the suffixes s< (eq. 4) and the prefixes p< (eq. 3).
"""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from keras_slstm.ops.backend.precision import tanh
from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.masks import indices
from keras_slstm.types import Tensor, Tensors


class RecurrentWeights(NamedTuple):
    """The weights of a cell with d units and G gates in Keras' order: i, f, c~, o (LSTM) or z, r, h~ (GRU).

    Attributes:
        kernel: W, `(features, G d)`.
        recurrent_kernel: U, `(d, G d)`.
        bias: b, `(G d,)`; for a GRU `(2, G d)`, added to x W and to h U.
    """

    kernel: Tensor
    recurrent_kernel: Tensor
    bias: Tensor


class Context(NamedTuple):
    """How many words a cell reads after its first word: `words`, an integer or a tensor of at most `widest`."""

    words: Tensor | int
    widest: int


def lstm(a_x: Tensor, a_h: Tensor, state: Tensors) -> Tensors:
    """One step from x W + b, h U and (h, c) to the new (h, c)."""
    i, f, c_tilde, o = ops.split(a_x + a_h, 4, axis=-1)
    c = ops.sigmoid(i) * tanh(c_tilde) + ops.sigmoid(f) * state[1]
    return ops.sigmoid(o) * tanh(c), c


def gru(a_x: Tensor, a_h: Tensor, state: Tensors) -> Tensors:
    """One step from x W + b_x, h U + b_h and (h,) to the new (h,), as in Keras with `reset_after=True`."""
    x_z, x_r, x_h = ops.split(a_x, 3, axis=-1)
    h_z, h_r, h_h = ops.split(a_h, 3, axis=-1)
    z, r = ops.sigmoid(x_z + h_z), ops.sigmoid(x_r + h_r)
    return (z * state[0] + (1 - z) * tanh(x_h + r * h_h),)


def from_first_word(
    cell: str,
    weights: RecurrentWeights,
    x: Tensor,
    mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    rematerialize: bool = False,
) -> Tensor:
    """Eq. 1 and 4: h after every word, for a cell that starts at the first word.

    Args:
        cell: "lstm" or "gru".
        weights: Its weights.
        x: `(time, batch, features)`.
        mask: `(time, batch, 1)` bool, True at real words; padding leaves the state unchanged. None if all are real.
        dropout_mask: `(batch, d)`, multiplies h before U does, or None.
        rematerialize: Whether the gradient of a kernel recomputes the gates instead of storing them.

    Returns:
        `(time, batch, d)`, 0 at masked words.
    """
    mask = ops.ones_like(x[..., :1], dtype="bool") if mask is None else mask
    h = _run(cell, weights, x, mask, dropout_mask, num_stacked=1)
    return ops.where(mask, h, ops.zeros_like(h))


def from_every_word(
    cell: str,
    weights: RecurrentWeights,
    x: Tensor,
    mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    context: Context | None = None,
    rematerialize: bool = False,
) -> Tensor:
    """Eq. 2 and 3: the last h of a cell that starts at word i, for every i.

    The cell that starts at word i reads the same sentence, in which the words before i are masked.

    Args:
        cell, weights, x, mask, dropout_mask, rematerialize: See `from_first_word`.
        context: How many real words are read after word i. None for all.

    Returns:
        `(time, batch, d)`, 0 at masked words.
    """
    mask = ops.ones_like(x[..., :1], dtype="bool") if mask is None else mask
    position = indices(mask, 0)
    started = ops.expand_dims(position, 1) >= position  # at word t, the cell that starts at word i
    started = ops.expand_dims(started, (-2, -1))
    reads = ops.expand_dims(mask, 1) & started
    if context is not None:
        count = ops.cumsum(ops.cast(mask, "int32"), axis=0)
        reads = reads & (ops.expand_dims(count, 1) - count <= context.words)
    h = _run(cell, weights, x, reads, dropout_mask, num_stacked=0)
    return ops.where(mask, h, ops.zeros_like(h))


def from_first_and_every_word(
    cell: str,
    weights: RecurrentWeights,
    x: Tensor,
    mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    context: Context | None = None,
    rematerialize: bool = False,
) -> tuple[Tensor, Tensor]:
    """`from_first_word` and `from_every_word` with the same (tied) weights."""
    first = from_first_word(cell, weights, x, mask, dropout_mask, rematerialize)
    return first, from_every_word(cell, weights, x, mask, dropout_mask, context, rematerialize)


def combine(how: str, p: Tensor, s: Tensor, kernel: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """Combine the prefix p and suffix s of every word in one direction, by "max" (eq. 5) or otherwise."""
    if how == "max":
        return ops.where(p >= s, p, s)  # `ops.maximum` rounds float64 on some backends
    if how == "mean":
        return (p + s) / 2
    both = ops.concatenate([p, s], axis=-1)
    if how == "concat":
        return both
    z = ops.sigmoid(both @ kernel + bias)  # "gate"
    return z * p + (1 - z) * s


def _run(
    cell: str, weights: RecurrentWeights, x: Tensor, reads: Tensor, dropout_mask: Tensor | None, num_stacked: int
) -> Tensor:
    """Return h of a cell that skips some words: after every word, or with `num_stacked=0` after the last.

    Args:
        cell, weights, x, dropout_mask: See `from_first_word`.
        reads: `(time, batch, 1)` bool, or `(time, cells, batch, 1)` for several cells in parallel.
        num_stacked: 1 or 0.
    """
    W, U, b = weights
    b_x, b_h = (b[0], b[1]) if cell == "gru" else (b, 0)
    step, states = {"lstm": (lstm, 2), "gru": (gru, 1)}[cell]

    def one_word(state: Tensors, now: Tensors) -> Tensors:
        x_t, reads_t = now
        h = state[0] if dropout_mask is None else state[0] * dropout_mask
        new = step(x_t @ W + b_x, h @ U + b_h, state)
        return tuple(ops.where(reads_t, one, other) for one, other in zip(new, state, strict=True))

    zeros = ops.zeros((*ops.shape(reads)[1:-1], U.shape[0]), dtype=x.dtype)
    return scan(one_word, (zeros,) * states, (x, reads), num_stacked=num_stacked)[0]
