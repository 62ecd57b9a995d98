"""The k best label sequences of a linear-chain CRF."""

from __future__ import annotations

import numpy as np
from keras import ops

from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.crf import FORBIDDEN, Potentials, time_first
from keras_slstm.ops.masks import is_first
from keras_slstm.types import Tensor, Tensors


def k_best_labels(potentials: Potentials, k: int) -> tuple[Tensor, Tensor]:
    """The k highest-scoring sequences, best first, by the Viterbi algorithm with k states per label.

    Returns:
        The sequences, `(batch, k, time)` int32, 0 at masked positions, and their scores, `(batch, k)`. If fewer than k
        sequences are allowed, the rest are 0, with the score -inf.
    """
    unary, transitions, mask = potentials
    pairwise = potentials.pairwise
    labels = unary.shape[2]
    # State label * k + rank is the rank-th best way to reach a label. At the first word there is only one.
    rank, label = np.arange(k), np.arange(labels)[:, None]
    zeros = ops.zeros_like(ops.sum(unary, axis=1)[..., None] + ops.zeros(k, unary.dtype))
    nothing = zeros + ops.convert_to_tensor(np.where(rank == 0, 0, FORBIDDEN), zeros.dtype)
    stay = ops.cast(zeros, "int32") + ops.convert_to_tensor(label * k + rank, "int32")

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        _, best, shift = state
        u, first_t, mask_t, *own = at_time
        scores = best[:, :, None, :] + (own[0] if own else transitions)[..., None]  # from, to, rank
        scores, backpointer = ops.top_k(_flat(ops.transpose(scores, (0, 2, 1, 3)), 2), k)
        scores = ops.where(first_t, nothing, scores) + u[..., None]
        largest = amax(scores, axis=(1, 2), keepdims=True)
        return (
            ops.where(mask_t, ops.cast(backpointer, "int32"), stay),
            ops.where(mask_t, scores - largest, best),
            ops.where(mask_t, shift + largest, shift),
        )

    inputs = (unary, is_first(mask)[..., None, None], mask[..., None, None], *([transitions] if pairwise else []))
    # A row without a word has a single, empty sequence.
    empty = nothing + ops.convert_to_tensor(np.where(label == 0, 0, FORBIDDEN), zeros.dtype)
    initial = (stay, empty, zeros[:, :1, :1])
    backpointers, scores, shift = scan(step, initial, tuple(map(time_first, inputs)), num_stacked=1)
    scores, end = ops.top_k(_flat(scores, 1), k)

    def back(state: Tensors, at_time: Tensors) -> Tensors:
        (place,) = state
        (backpointer,) = at_time
        return (ops.take_along_axis(_flat(backpointer, 1), place, axis=1),)

    end = ops.cast(end, "int32")
    (places,) = scan(back, (end,), (backpointers,), reverse=True)
    places = ops.concatenate([places, end[None]], axis=0)[1:]
    paths = ops.transpose(places // k, (1, 2, 0))
    scores = scores + shift[:, :, 0]
    allowed = scores > FORBIDDEN / 2
    paths = ops.where(mask[:, None] & allowed[..., None], paths, ops.zeros_like(paths))
    return paths, ops.where(allowed, scores, ops.full_like(scores, -float("inf")))


def _flat(x: Tensor, axis: int) -> Tensor:
    """Merge all axes from `axis` on."""
    size = 1
    for length in x.shape[axis:]:
        size *= length
    return ops.reshape(x, (-1, *x.shape[1:axis], size))
