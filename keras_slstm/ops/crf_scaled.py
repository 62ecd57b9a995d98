"""The log-partition of a linear-chain CRF and its gradient, fast: in probabilities, normalised at every word."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_slstm.ops import crf_log_space
from keras_slstm.ops.accumulate import accumulate
from keras_slstm.ops.crf_log_space import Expectations, differentiable_once, time_first
from keras_slstm.ops.crf_potentials import Potentials
from keras_slstm.ops.masks import is_first, is_last

Tensor = Any


def log_partition(potentials: Potentials) -> Tensor:
    """The log of the sum over all sequences of labels of exp(score), `(batch,)`; 0 where a row has no word."""

    @ops.custom_gradient
    def compute(unary: Tensor, transitions: Tensor, real: Tensor) -> tuple:
        found = expectations(Potentials(ops.stop_gradient(unary), ops.stop_gradient(transitions), real > 0.5))

        def gradient(*inputs: Tensor, upstream: Tensor | None = None) -> tuple:
            # PyTorch hands over the inputs, and the gradient by its name.
            scale = (inputs[0] if upstream is None else upstream)[:, None, None]
            inputs = (unary, transitions) if upstream is None else inputs[:2]
            if len(transitions.shape) == 4:
                d_transitions = scale[..., None] * found.transitions
            else:
                d_transitions = ops.sum(scale * found.transitions, axis=0)
            return (*differentiable_once((scale * found.labels, d_transitions), inputs), ops.zeros_like(real))

        return found.log_partition, gradient

    return compute(potentials.unary, potentials.transitions, ops.cast(potentials.mask, potentials.unary.dtype))


def expectations(potentials: Potentials) -> Expectations:
    """The log-partition and its gradient: here, or in log space where numbers would get too small."""
    found, reliable = _scaled(potentials)
    return ops.cond(reliable, lambda: found, lambda: crf_log_space.expectations(potentials))


def _scaled(potentials: Potentials) -> tuple[Expectations, Tensor]:
    """The recursions of `forward` and `backward` run side by side in one loop; all else is done for all words at once.

        forward_i[y] = (sum_{y'} forward_{i-1}[y'] E[y', y]) e_i[y] / c_i
        backward_{i-1}[y'] = (sum_y E[y', y] e_i[y] backward_i[y]) / d_i

    with e = exp(unary - its maximum at the word), E = exp(transitions - their maximum), and c and d such that the
    largest number is 1. What is below the smallest number of the dtype, beside 1, is lost; that is reliable as long as
    forward and backward, which have seen different halves of the sentence, do not contradict each other at any word.

    Returns:
        What is asked for, and a bool: whether it is reliable.
    """
    unary, transitions, mask = potentials
    pairwise = potentials.pairwise
    counts = time_first(mask & ~is_first(mask))[..., None]  # words with a transition
    first, last, real = (time_first(x)[..., None] for x in (is_first(mask), is_last(mask), mask))
    unary = time_first(unary)
    highest = ops.max(unary, axis=2, keepdims=True)
    e = ops.exp(unary - highest)
    if pairwise:
        transitions = time_first(transitions)
    steepest = ops.max(transitions, axis=(-2, -1), keepdims=True)
    E = ops.exp(transitions - steepest)
    steepest = steepest[..., 0]  # (time, batch, 1), or (1, 1)
    start = ops.cast(first, e.dtype)

    def step(state: tuple, at_time: tuple) -> tuple:
        forward, backward = state
        e_now, starts, is_real, e_then, was_real, *own = at_time
        into, out_of = own if own else (E, E)
        p = (_times(forward, into) + starts) * e_now
        q = _times(backward * e_then, ops.swapaxes(out_of, -1, -2))
        return (
            ops.where(is_real, p / ops.max(p, axis=1, keepdims=True), forward),
            ops.where(was_real, q / ops.max(q, axis=1, keepdims=True), backward),
        )

    zeros = ops.sum(ops.zeros_like(e), axis=0)
    ones = zeros + 1
    inputs = (e, start, real, ops.flip(e, axis=0), ops.flip(real, axis=0))
    inputs += (E, ops.flip(E, axis=0)) if pairwise else ()
    after, before = accumulate(step, (zeros, ones), inputs)
    forward = ops.concatenate([zeros[None], after], axis=0)[:-1]  # of the real word before
    backward = ops.flip(ops.concatenate([ones[None], before], axis=0)[:-1], axis=0)

    p = (_times(forward, E) + start) * e
    total = ops.sum(p * backward, axis=2, keepdims=True)
    # The largest number that forward and backward agree on is far above what may have been lost on the way.
    info = np.finfo(keras.backend.standardize_dtype(e.dtype))
    reliable = ops.all((total > float(info.tiny / info.eps**2)) | ~real)

    scale = ops.where(last, total, ops.max(p, axis=2, keepdims=True))
    none = ops.zeros_like(scale)
    log_partition = ops.where(real, ops.log(scale) + highest, none) + ops.where(counts, steepest + none, none)
    share = ops.where(real, backward / total, ops.zeros_like(backward))
    came = ops.where(counts, forward, ops.zeros_like(forward))
    if pairwise:
        pairs = time_first(came[..., :, None] * E * (e * share)[..., None, :])
    else:
        pairs = E * (ops.transpose(came, (1, 2, 0)) @ time_first(e * share))
    return Expectations(ops.sum(log_partition, axis=(0, 2)), time_first(p * share), pairs), reliable


def _times(x: Tensor, matrix: Tensor) -> Tensor:
    """`x @ matrix` for x `(..., labels)` and one matrix `(labels, labels)`, or one for each x."""
    if len(matrix.shape) > 2:
        return (x[..., None, :] @ matrix)[..., 0, :]
    if len(x.shape) == 2:
        return x @ matrix
    labels = x.shape[-1]
    return ops.reshape(ops.reshape(x, (-1, labels)) @ matrix, ops.shape(x))
