"""A recurrent cell that starts at every word of a sentence, in as many steps as there are words.

*Row* i is the state of the cell that started at word i. All rows advance together: one matrix product reads word t for
the t + 1 rows that have started. After the last word, row i has read all words from i on.

The hand-written gradient takes one product for the weights, where autodiff would take one per word and row, and it can
recompute the gates instead of storing them. Sequences are time-major, `(time, batch, ...)`.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.ops import subilstm as equation
from keras_slstm.ops.backend.eager import saved_or_again
from keras_slstm.ops.backend.segments import scan_segments
from keras_slstm.ops.backend.traceable import pad
from keras_slstm.ops.kernels import suffix_blocks, suffix_tensorflow
from keras_slstm.ops.kernels.recurrent_cells import CELLS, Recurrence
from keras_slstm.ops.projection import project
from keras_slstm.ops.reference import kernel_of
from keras_slstm.ops.subilstm import Context, RecurrentWeights
from keras_slstm.types import Tensor, Tensors

# The number of words whose contexts are read at once if the gradient recomputes them.
BLOCK = 256


@kernel_of(equation.from_first_word)
def from_first_word(
    cell: str,
    weights: RecurrentWeights,
    x: Tensor,
    mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    rematerialize: bool = False,
) -> Tensor:
    """Always used: multiplies by W once, and computes the gradient of U in one product."""
    (first,) = _run(_recurrence(cell, weights, x, mask, dropout_mask), False, rematerialize)
    return _finish(first, x, mask)


@kernel_of(equation.from_every_word)
def from_every_word(
    cell: str,
    weights: RecurrentWeights,
    x: Tensor,
    mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    context: Context | None = None,
    rematerialize: bool = False,
) -> Tensor:
    """Always used: advances only the rows that have started, half of those that the equation computes."""
    if context is None:
        _, every = _run(_recurrence(cell, weights, x, mask, dropout_mask), True, rematerialize)
    else:
        moved, moved_mask = _padding_last(x, mask)
        recurrence = _recurrence(cell, weights, moved, moved_mask, dropout_mask)
        every = _move_back(_within(recurrence, context, rematerialize), mask)
    return _finish(every, x, mask)


@kernel_of(equation.from_first_and_every_word)
def from_first_and_every_word(
    cell: str,
    weights: RecurrentWeights,
    x: Tensor,
    mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    context: Context | None = None,
    rematerialize: bool = False,
) -> tuple[Tensor, Tensor]:
    """Always used: row 0 of the cell that starts at every word is the cell that starts at the first."""
    if context is None:
        first, every = _run(_recurrence(cell, weights, x, mask, dropout_mask), True, rematerialize)
    else:
        moved, moved_mask = _padding_last(x, mask)
        recurrence = _recurrence(cell, weights, moved, moved_mask, dropout_mask)
        (first,) = _run(recurrence, False, rematerialize)
        every = _within(recurrence, context, rematerialize)
        first, every = _move_back(first, mask), _move_back(every, mask)
    return _finish(first, x, mask), _finish(every, x, mask)


def _recurrence(
    cell: str, weights: RecurrentWeights, x: Tensor, mask: Tensor | None, dropout_mask: Tensor | None
) -> Recurrence:
    if not _has_words(x):  # the loops read the first word even if they take no step
        x, mask = _with_one_more_if_empty(x), None if mask is None else _with_one_more_if_empty(mask)
    kernel, recurrent_kernel, bias = weights
    bias, recurrent_bias = (bias[0], bias[1]) if cell == "gru" else (bias, None)
    projected = project(x, kernel) + bias
    mask_f = None if mask is None else ops.cast(mask, projected.dtype)
    return Recurrence(CELLS[cell], projected, recurrent_kernel, recurrent_bias, mask_f, dropout_mask)


def _with_one_more_if_empty(x: Tensor) -> Tensor:
    time, *rest = ops.shape(x)
    more = 1 if x.shape[0] == 0 else ops.cast(ops.equal(time, 0), "int32")
    return ops.concatenate([x, ops.zeros((more, *rest), dtype=x.dtype)], axis=0)


def _within(recurrence: Recurrence, context: Context, rematerialize: bool) -> Tensor:
    """The last h of a cell that reads each word and its context, `(time, batch, d)`.

    Each word with its context is a short sentence, and the cell reads all of them as one batch, or with `rematerialize`
    those of a block of words. Padding may only follow the words.
    """
    projected, widest = recurrence.projected, context.widest
    time, batch = ops.shape(projected)[:2]
    if isinstance(time, int):
        widest = min(widest, max(time - 1, 0))
    mask_f = ops.ones_like(projected[..., :1]) if recurrence.mask_f is None else recurrence.mask_f
    blocks = -(-time // BLOCK) if rematerialize else 1
    length = -(-time // blocks)
    more = blocks * length - time + widest
    padded = tuple(pad(x, ((0, more), (0, 0), (0, 0))) for x in (projected, mask_f))
    in_reach = ops.cast(ops.arange(widest + 1, dtype="int32") <= context.words, mask_f.dtype)[:, None, None]

    def contexts(x: Tensor) -> Tensor:
        stacked = ops.stack([x[j : j + length] for j in range(widest + 1)])
        return ops.reshape(stacked, (widest + 1, length * batch, x.shape[-1]))

    def read(recurrence: Recurrence, state: Tensors, now: Tensors) -> Tensors:
        dropout_mask = recurrence.dropout_mask
        short = recurrence._replace(
            projected=contexts(now[0]),
            mask_f=contexts(now[1]) * in_reach,
            dropout_mask=None if dropout_mask is None else ops.tile(dropout_mask, (length, 1)),
        )
        (states,) = _run(short, False, rematerialize)
        return (ops.reshape(states[-1], (length, batch, recurrence.units)),)

    if isinstance(blocks, int) and blocks == 1:
        return read(recurrence, (), padded)[0]
    place = ops.arange(blocks, dtype="int32")[:, None] * length + ops.arange(length + widest, dtype="int32")
    inputs = tuple(ops.take(x, place, axis=0) for x in padded)
    like = ops.zeros((length, batch, recurrence.units), dtype=projected.dtype)
    (every,) = scan_segments(read, recurrence._replace(projected=None, mask_f=None), (), inputs, (like,))
    return ops.reshape(every, (-1, batch, recurrence.units))[:time]


def _run(recurrence: Recurrence, every: bool, rematerialize: bool) -> tuple[Tensor, ...]:
    """Return h of row 0 after every word and, if `every` word starts a row, h of all rows after the last word."""
    loop: Any = suffix_tensorflow if every and suffix_tensorflow.is_possible() else suffix_blocks
    tensors = {name: x for name, x in recurrence._asdict().items() if name != "cell" and x is not None}

    @ops.custom_gradient
    def outputs(*args: Tensor) -> Any:
        inner = recurrence._replace(**dict(zip(tensors, args, strict=True)))
        found, saved = loop.forward(inner, every, not rematerialize)

        def gradient(*upstream: Tensor, **named: Tensor) -> tuple[Tensor, ...]:
            if named:  # PyTorch
                upstream = tuple(named["upstream"]) if every else (named["upstream"],)
            steps = saved_or_again(saved, lambda: loop.forward(inner, every, not rematerialize)[1])
            gradients = loop.backward(inner, every, steps, *keras.tree.flatten(upstream))
            for name in ("mask_f", "dropout_mask"):  # constants
                if name in tensors:
                    gradients[name] = ops.zeros_like(getattr(inner, name))
            return tuple(gradients[name] for name in tensors)

        if not every:
            return found[0], gradient
        # PyTorch accepts only one result.
        return ops.stack(found) if keras.backend.backend() == "torch" else found, gradient

    result = outputs(*tensors.values())
    return tuple(result) if every else (result,)


def _padding_last(x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Move all padding of `x` behind the words; also return the new mask."""
    if mask is None:
        return x, None
    time = ops.shape(mask)[0]
    position = ops.arange(time, dtype="int32")[:, None, None]
    order = ops.cast(ops.argsort(ops.where(mask, position, position + time), axis=0), "int32")
    count = ops.sum(ops.cast(mask, "int32"), axis=0)
    return _take_words(x, order), position < count


def _move_back(x: Tensor, mask: Tensor | None) -> Tensor:
    """Undo `_padding_last`; values at padding are meaningless."""
    if mask is None:
        return x
    place = ops.maximum(ops.cumsum(ops.cast(mask, "int32"), axis=0) - 1, 0)
    return _take_words(x, place)


def _take_words(x: Tensor, index: Tensor) -> Tensor:
    """Take the words `index`, `(time, batch, 1)`, of each sentence. `ops.take_along_axis` is slower."""
    time, batch, features = ops.shape(x)
    rows = index[..., 0] * batch + ops.arange(batch, dtype="int32")
    return ops.take(ops.reshape(x, (time * batch, features)), rows, axis=0)


def _has_words(x: Tensor) -> bool:
    """Whether `x`, `(time, ...)`, is known to have a word."""
    return x.shape[0] not in (None, 0)


def _finish(h: Tensor, x: Tensor, mask: Tensor | None) -> Tensor:
    """Remove the word that `_recurrence` may have added, and zero the padding."""
    h = h if _has_words(x) else h[: ops.shape(x)[0]]
    return h if mask is None else ops.where(mask, h, ops.zeros_like(h))
