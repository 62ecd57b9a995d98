"""The best sequences of labels."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_slstm.ops.accumulate import accumulate
from keras_slstm.ops.crf_log_space import is_first, time_first
from keras_slstm.ops.crf_potentials import FORBIDDEN, Potentials

Tensor = Any


def best_labels(potentials: Potentials) -> Tensor:
    """The sequence of the highest score, `(batch, time)` int32; 0 at masked positions."""
    paths, _ = k_best_labels(potentials, 1)
    return paths[:, 0]


def k_best_labels(potentials: Potentials, k: int) -> tuple[Tensor, Tensor]:
    """The k sequences of the highest scores, best first.

    Returns:
        The sequences, `(batch, k, time)` int32, 0 at masked positions, and their scores, `(batch, k)`, -inf where
        there are fewer than k allowed sequences.
    """
    unary, transitions, mask = potentials
    pairwise = len(transitions.shape) == 4
    labels = unary.shape[2]
    # Of each label the k best ways to get there; at first there is one.
    one = ops.where(ops.arange(k) == 0, ops.zeros((k,), unary.dtype), ops.full((k,), FORBIDDEN, unary.dtype))
    nothing = ops.sum(ops.zeros_like(unary), axis=1)[..., None] + one  # (batch, labels, k)
    stay = ops.cast(ops.zeros_like(nothing), "int32") + ops.reshape(ops.arange(labels * k, dtype="int32"), (labels, k))

    def step(state: tuple, at_time: tuple) -> tuple:
        best, _ = state
        u, real, start, *own = at_time
        scores = best[:, :, None, :] + (own[0] if pairwise else transitions)[..., None]  # (batch, from, to, k)
        scores = ops.reshape(ops.transpose(scores, (0, 2, 1, 3)), (-1, labels, labels * k))
        scores, origin = ops.top_k(scores, k)
        scores = ops.where(start, nothing, scores) + u[..., None]
        return ops.where(real, scores, best), ops.where(real, ops.cast(origin, "int32"), stay)

    inputs = (unary, mask[..., None, None], is_first(mask)[..., None, None], *((transitions,) if pairwise else ()))
    scores, origins = accumulate(step, (nothing, stay), tuple(time_first(x) for x in inputs))
    last = ops.where(ops.any(mask, axis=1)[:, None, None], scores[-1], _empty(nothing, one))
    found, place = ops.top_k(ops.reshape(last, (-1, labels * k)), k)

    def back(state: tuple, at_time: tuple) -> tuple:
        place, _ = state
        (origin,) = at_time
        before = ops.take_along_axis(ops.reshape(origin, (-1, labels * k)), place, axis=1)
        return ops.cast(before, "int32"), place

    place = ops.cast(place, "int32")
    _, places = accumulate(back, (place, place), (origins,), reverse=True)
    paths = ops.transpose(places // k, (1, 2, 0))
    real = mask[:, None] & (found > FORBIDDEN / 2)[..., None]
    found = ops.where(found > FORBIDDEN / 2, found, ops.full_like(found, -float("inf")))
    return ops.where(real, paths, ops.zeros_like(paths)), found


def _empty(nothing: Tensor, one: Tensor) -> Tensor:
    """Of a row without a word, one sequence, the empty one, scores 0."""
    labels = nothing.shape[1]
    only = ops.where(ops.arange(labels)[:, None] == 0, one, ops.full((labels, one.shape[0]), FORBIDDEN, one.dtype))
    return ops.zeros_like(nothing) + only
