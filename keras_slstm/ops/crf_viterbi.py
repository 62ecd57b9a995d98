"""The best sequences of labels."""

from __future__ import annotations

import numpy as np
from keras import ops

from keras_slstm.ops.crf_log_space import time_first
from keras_slstm.ops.crf_potentials import FORBIDDEN, Potentials
from keras_slstm.ops.masks import is_first
from keras_slstm.ops.scan import scan
from keras_slstm.types import Tensor


def best_labels(potentials: Potentials) -> Tensor:
    """The sequence of the highest score (Viterbi), `(batch, time)` int32; 0 at masked positions.

    On the way forward the scores are kept, not where they come from: on the way back, only the labels of one sequence
    have to be asked for that.
    """
    unary, transitions, mask = potentials
    pairwise = potentials.pairwise
    real = time_first(mask)[..., None]
    first = time_first(is_first(mask))[..., None]
    unary = time_first(unary)
    # [to, from], as the maximum over the last axis is the fastest.
    into = ops.swapaxes(time_first(transitions) if pairwise else transitions, -1, -2)

    def step(state: tuple, at_time: tuple) -> tuple:
        (best,) = state
        u, starts, is_real, *own = at_time
        # The scores of a long sentence would lose digits. (To subtract the largest number that has come costs XLA
        # three times as much: it works all of them out once more.)
        shifted = best - ops.max(best, axis=1, keepdims=True)
        came = ops.max(shifted[:, None, :] + (own[0] if own else into), axis=2)
        return (ops.where(is_real, ops.where(starts, ops.zeros_like(came), came) + u, best),)

    zeros = ops.sum(ops.zeros_like(unary), axis=0)
    own = [into] if pairwise else []
    (best,) = scan(step, (zeros,), (unary, first, real, *own))
    best = ops.concatenate([zeros[None], best], axis=0)

    def back(state: tuple, at_time: tuple) -> tuple:
        (label,) = state
        before, is_real, *own = at_time
        if own:
            rows = ops.take_along_axis(own[0], label[:, None, None], axis=1)[:, 0]
        else:
            rows = ops.take(into, label, axis=0)
        return (ops.where(is_real, _argmax(before + rows), label),)

    label = _argmax(best[-1])
    (labels,) = scan(back, (label,), (best[:-1], real[..., 0], *own), reverse=True)
    labels = ops.transpose(ops.concatenate([labels, label[None]], axis=0)[1:])
    return ops.where(mask, labels, ops.zeros_like(labels))


def _argmax(x: Tensor) -> Tensor:
    return ops.cast(ops.argmax(x, axis=1), "int32")


def k_best_labels(potentials: Potentials, k: int) -> tuple[Tensor, Tensor]:
    """The k sequences of the highest scores, best first.

    Returns:
        The sequences, `(batch, k, time)` int32, 0 at masked positions, and their scores, `(batch, k)`. Where there are
        fewer than k allowed sequences, 0 and -inf.
    """
    unary, transitions, mask = potentials
    pairwise = potentials.pairwise
    labels = unary.shape[2]
    # Of each label the k best ways to get there; to the first word there is one. They are numbered label * k + rank.
    rank, label = np.arange(k), np.arange(labels)[:, None]
    zeros = ops.zeros_like(ops.sum(unary, axis=1)[..., None] + ops.zeros(k, unary.dtype))
    nothing = zeros + ops.convert_to_tensor(np.where(rank == 0, 0, FORBIDDEN), zeros.dtype)
    stay = ops.cast(zeros, "int32") + ops.convert_to_tensor(label * k + rank, "int32")

    def step(state: tuple, at_time: tuple) -> tuple:
        _, best, shift = state
        u, starts, is_real, *own = at_time
        scores = best[:, :, None, :] + (own[0] if own else transitions)[..., None]  # from, to, rank
        scores, origin = ops.top_k(_flat(ops.transpose(scores, (0, 2, 1, 3)), 2), k)
        scores = ops.where(starts, nothing, scores) + u[..., None]
        largest = ops.max(scores, axis=(1, 2), keepdims=True)
        return (
            ops.where(is_real, ops.cast(origin, "int32"), stay),
            ops.where(is_real, scores - largest, best),
            ops.where(is_real, shift + largest, shift),
        )

    inputs = (unary, is_first(mask)[..., None, None], mask[..., None, None], *([transitions] if pairwise else []))
    # A row without a word has one sequence, the empty one.
    empty = nothing + ops.convert_to_tensor(np.where(label == 0, 0, FORBIDDEN), zeros.dtype)
    initial = (stay, empty, zeros[:, :1, :1])
    origins, scores, shift = scan(step, initial, tuple(map(time_first, inputs)), num_stacked=1)
    scores, end = ops.top_k(_flat(scores, 1), k)

    def back(state: tuple, at_time: tuple) -> tuple:
        (place,) = state
        (origin,) = at_time
        return (ops.take_along_axis(_flat(origin, 1), place, axis=1),)

    end = ops.cast(end, "int32")
    (places,) = scan(back, (end,), (origins,), reverse=True)
    places = ops.concatenate([places, end[None]], axis=0)[1:]
    paths = ops.transpose(places // k, (1, 2, 0))
    scores = scores + shift[:, :, 0]
    allowed = scores > FORBIDDEN / 2
    paths = ops.where(mask[:, None] & allowed[..., None], paths, ops.zeros_like(paths))
    return paths, ops.where(allowed, scores, ops.full_like(scores, -float("inf")))


def _flat(x: Tensor, axis: int) -> Tensor:
    """All axes from `axis` on as one."""
    size = 1
    for length in x.shape[axis:]:
        size *= length
    return ops.reshape(x, (-1, *x.shape[1:axis], size))
