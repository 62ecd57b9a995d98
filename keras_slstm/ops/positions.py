"""Finds the neighbours of words across masked positions."""

from __future__ import annotations

from keras import ops

from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.masks import indices, is_first
from keras_slstm.types import Tensor, Tensors


def index_before(mask: Tensor) -> Tensor:
    """`(batch, time)` int32: for each word but the first, the position of the previous one; elsewhere, any position."""
    mask_i = ops.cast(mask, "int32")
    position = ops.zeros_like(mask_i) + indices(mask, 1)
    begins = mask & (ops.concatenate([ops.zeros_like(mask_i[:, :1]), mask_i[:, :-1]], axis=1) == 0)

    def across_gaps() -> Tensor:
        def step(state: Tensors, at_time: Tensors) -> Tensors:
            _, latest = state
            here, mask_t = at_time
            return latest, ops.where(mask_t, here, latest)

        none = ops.cast(ops.sum(ops.zeros_like(mask_i), axis=1), "int32")
        before, _ = scan(step, (none, none), (ops.transpose(position), ops.transpose(mask)), num_stacked=1)
        return ops.transpose(before)

    has_gaps = ops.any(begins & ~is_first(mask))
    return ops.cond(has_gaps, across_gaps, lambda: position - ops.cast(position > 0, "int32"))


def index_after(mask: Tensor) -> Tensor:
    """`(batch, time)` int32: for each word but the last, the position of the next one; elsewhere, any position."""
    return ops.shape(mask)[1] - 1 - ops.flip(index_before(ops.flip(mask, axis=1)), axis=1)


def take_words(x: Tensor, index: Tensor) -> Tensor:
    """Take `x[b, index[b, t]]` from `x`, `(batch, time, ...)`, for all positions of `index`, `(batch, time)`."""
    batch, time = ops.shape(index)
    flat = ops.reshape(x, (-1, *x.shape[2:]))
    return ops.take(flat, ops.expand_dims(ops.arange(batch, dtype="int32"), 1) * time + index, axis=0)
