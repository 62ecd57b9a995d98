"""The forward-backward recursion of a linear-chain CRF in probabilities that are rescaled at every word: fast."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from keras_slstm.ops.backend.eager import runs_torch_eagerly
from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.crf import Potentials, time_first
from keras_slstm.ops.kernels.crf_log_space import Score, rows
from keras_slstm.ops.masks import is_first, is_last
from keras_slstm.types import Tensor, Tensors


def log_partition(potentials: Potentials) -> tuple[Score, Tensor]:
    """Log Z and its gradient.

    Only the recursions run in loops; everything else is computed for all words together:

        forward_i[y]  = (sum_{y'} forward_{i-1}[y'] E[y', y]   + [i = 1]) e_i[y] / c_i
        backward_i[y] = (sum_{y'} E[y, y']  backward_{i+1}[y'] + [i = n]) e_i[y] / d_i

    with e = exp(unary - its maximum at the word), E = exp(transitions - their maximum), and c and d such that the
    largest value is 1. Very small values underflow. The result is reliable unless forward and backward, which have
    read different parts of the sentence, disagree at a word.

    Returns:
        The score, and a bool: whether it is reliable.
    """
    if runs_torch_eagerly(*potentials):
        from keras_slstm.ops.kernels import crf_torch

        return crf_torch.log_partition(potentials)
    unary, transitions, mask = potentials
    first, last, words = (time_first(x)[..., None] for x in (is_first(mask), is_last(mask), mask))
    counts = words & ~first  # words with a transition
    unary = time_first(unary)
    max_unary = amax(unary, axis=2, keepdims=True)
    e = ops.exp(unary - max_unary)
    max_transition = amax(transitions, axis=(-2, -1), keepdims=True)

    E = ops.exp(transitions - max_transition)  # from the label before
    if potentials.pairwise:
        # Where no transition counts, the identity hands on the state.
        E = ops.where(counts[..., None], time_first(E), ops.eye(E.shape[-1], dtype=E.dtype))
        before, message, q = _in_two_loops(ops.where(words, e, ops.ones_like(e)), E)
        max_transition = time_first(max_transition)
    else:
        before, message, q = _in_one_loop(e, E, first, last, words)
    max_transition = max_transition[..., 0]  # (time, batch, 1), or (1, 1)
    p = message * e
    total = ops.sum(p * q, axis=2, keepdims=True)
    # Reliable if forward and backward agree on values far above those that may have underflowed.
    info = np.finfo(keras.backend.standardize_dtype(e.dtype))
    reliable = ops.all((total > float(info.tiny / info.eps**2)) | ~words)

    scale = ops.where(last, total, amax(p, axis=2, keepdims=True))
    none = ops.zeros_like(scale)
    found = ops.where(words, ops.log(scale) + max_unary, none) + ops.where(counts, max_transition + none, none)

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        share = ops.where(words, q / total * upstream[:, None], ops.zeros_like(q))
        moving = ops.where(counts, before, ops.zeros_like(before))
        if potentials.pairwise:
            d_transitions = time_first(moving[..., :, None] * E * (e * share)[..., None, :])
        else:
            d_transitions = E * (ops.transpose(rows(moving)) @ rows(e * share))
        return time_first(p * share), d_transitions

    return Score(ops.sum(found, axis=(0, 2)), gradient), reliable


def _in_one_loop(e: Tensor, E: Tensor, first: Tensor, last: Tensor, words: Tensor) -> Tensors:
    """Run both recursions in one loop, because a step costs more than its product.

    Args:
        e: `(time, batch, labels)`.
        E: `(labels, labels)`.
        first, last, words: `(time, batch, 1)` bool: whether it is the first, the last, or any word.

    Returns:
        For each word, `(time, batch, labels)`: the forward value of the word before, and the sums that it gets from
        the words before and after it, the latter up to a factor.
    """
    start, end = ops.cast(first, e.dtype), ops.cast(last, e.dtype)
    both_ways = ops.stack([E, ops.swapaxes(E, -1, -2)])

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        *_, x = state
        e_now, ends, mask_t = at_time
        message = x @ both_ways + ends
        p = message * e_now
        return x, message, ops.where(mask_t, p / amax(p, axis=2, keepdims=True), x)

    inputs = tuple(_from_both_ends(*x) for x in ((e, e), (start, end), (words, words)))
    nothing = ops.sum(ops.zeros_like(inputs[0]), axis=0)
    # Stacked: the state before each step, and the sum that reaches its word.
    before, message, _ = scan(step, (nothing, nothing, nothing), inputs, num_stacked=2)
    return before[:, 0], message[:, 0], ops.flip(message[:, 1], axis=0)


def _in_two_loops(e: Tensor, E: Tensor) -> Tensors:
    """Run each recursion in its own loop, so that both read one copy of E, which is larger than everything else.

    Args:
        e: `(time, batch, labels)`; one where there is no word.
        E: `(time, batch, labels, labels)`; the identity where no transition counts.

    Returns:
        The results of `_in_one_loop`.
    """
    ones = ops.sum(ops.zeros_like(e), axis=0) + 1

    def forward(state: Tensors, at_time: Tensors) -> Tensors:
        *_, x = state
        e_now, E_now = at_time
        message = (x[:, None] @ E_now)[:, 0]
        p = message * e_now
        return x, message, p / amax(p, axis=1, keepdims=True)

    def backward(state: Tensors, at_time: Tensors) -> Tensors:
        _, message = state
        e_now, E_now = at_time
        x = (E_now @ (message * e_now)[..., None])[..., 0]
        return message, x / amax(x, axis=1, keepdims=True)

    before, message, _ = scan(forward, (ones, ones, ones), (e, E), num_stacked=2)
    from_after, _ = scan(backward, (ones, ones), (e, E), reverse=True, num_stacked=1)
    return before, message, from_after


def _from_both_ends(forward: Tensor, backward: Tensor) -> Tensor:
    """`(time, 2, batch, ...)`: the inputs of the forward and the backward recursion at each step."""
    return ops.stack([forward, ops.flip(backward, axis=0)], axis=1)
