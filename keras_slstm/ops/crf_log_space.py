"""Sums over all sequences of labels, in log space."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_slstm.ops.accumulate import accumulate
from keras_slstm.ops.crf_potentials import Potentials

Tensor = Any


def incoming(potentials: Potentials) -> Tensor:
    """The log of the sum over all that can stand before a word, given its label.

        incoming_1[y] = 0,   incoming_i[y] = log sum_{y'} exp(incoming_{i-1}[y'] + unary_{i-1}[y'] + transitions[y', y])

    Returns:
        `(batch, time, labels)`; at masked positions that of the last real word before them.
    """
    unary, transitions, mask = potentials
    pairwise = len(transitions.shape) == 4

    def step(state: tuple, at_time: tuple) -> tuple:
        before, came = state
        u, real, start, *own = at_time
        scores = before[:, :, None] + (own[0] if pairwise else transitions)
        into = ops.where(start, ops.zeros_like(came), ops.logsumexp(scores, axis=1))
        return ops.where(real, into + u, before), ops.where(real, into, came)

    inputs = (unary, mask[..., None], is_first(mask)[..., None], *((transitions,) if pairwise else ()))
    zeros = ops.sum(ops.zeros_like(unary), axis=1)
    return time_first(accumulate(step, (zeros, zeros), tuple(time_first(x) for x in inputs))[1])


def outgoing(potentials: Potentials) -> Tensor:
    """The log of the sum over all that can stand after a word, given its label.

        outgoing_n[y] = 0,   outgoing_i[y] = log sum_{y'} exp(transitions[y, y'] + unary_{i+1}[y'] + outgoing_{i+1}[y'])

    Returns:
        `(batch, time, labels)`; at masked positions that of the last real word before them.
    """
    unary, transitions, mask = potentials
    pairwise = len(transitions.shape) == 4

    def step(state: tuple, at_time: tuple) -> tuple:
        (after,) = state
        u, real, *own = at_time
        scores = (own[0] if pairwise else transitions) + (u + after)[:, None, :]
        return (ops.where(real, ops.logsumexp(scores, axis=2), after),)

    inputs = (unary, mask[..., None], *((transitions,) if pairwise else ()))
    zeros = ops.sum(ops.zeros_like(unary), axis=1)
    (states,) = accumulate(step, (zeros,), tuple(time_first(x) for x in inputs), reverse=True)
    return time_first(ops.concatenate([states[1:], zeros[None]], axis=0))


def is_first(mask: Tensor) -> Tensor:
    """`(batch, time)` bool: whether a position is that of the first real word."""
    return mask & (ops.cumsum(ops.cast(mask, "int32"), axis=1) == 1)


def is_last(mask: Tensor) -> Tensor:
    """`(batch, time)` bool: whether a position is that of the last real word."""
    return ops.flip(is_first(ops.flip(mask, axis=1)), axis=1)


def time_first(x: Tensor) -> Tensor:
    """Swap the first two axes."""
    return ops.transpose(x, (1, 0, *range(2, len(x.shape))))
