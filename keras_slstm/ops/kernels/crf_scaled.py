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
from keras_slstm.ops.positions import index_after, take_words
from keras_slstm.types import Tensor, Tensors


def log_partition(potentials: Potentials) -> tuple[Score, Tensor]:
    """Log Z and its gradient.

    Both recursions run in one loop; everything else is computed for all words together:

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
    labels = unary.shape[2]
    first, last, words = (time_first(x)[..., None] for x in (is_first(mask), is_last(mask), mask))
    counts = words & ~first  # words with a transition
    unary = time_first(unary)
    max_unary = amax(unary, axis=2, keepdims=True)
    e = ops.exp(unary - max_unary)
    max_transition = amax(transitions, axis=(-2, -1), keepdims=True)
    E = ops.exp(transitions - max_transition)  # from the label before
    onward = ops.swapaxes(E, -1, -2)  # from the label after
    if potentials.pairwise:
        onward = time_first(take_words(onward, ops.flip(index_after(mask), axis=1)))  # from the end
        E, max_transition = time_first(E), time_first(max_transition)
    max_transition = max_transition[..., 0]  # (time, batch, 1), or (1, 1)
    start, end = ops.cast(first, e.dtype), ops.cast(last, e.dtype)

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        *_, x = state
        e_now, ends, mask_t, *own = at_time
        if potentials.pairwise:
            moved = ops.stack([_times(x[:, 0], own[0]), _times(x[:, 1], own[1])], axis=1)
        else:
            moved = ops.reshape(ops.reshape(x, (-1, 2 * labels)) @ both_ways, ops.shape(x))
        message = moved + ends
        p = message * e_now
        return x, message, ops.where(mask_t, p / amax(p, axis=2, keepdims=True), x)

    inputs: tuple[Tensor, ...] = tuple(_from_both_ends(*x) for x in ((e, e), (start, end), (words, words)))
    if potentials.pairwise:
        inputs += (E, onward)
    else:
        # One product per step is faster than two on all backends, despite the zeros.
        none = ops.zeros_like(E)
        both_ways = ops.concatenate([ops.concatenate(row, axis=1) for row in ((E, none), (none, onward))], axis=0)
    nothing = ops.sum(ops.zeros_like(inputs[0]), axis=0)
    # Stacked: the state before each step, and the sum that reaches its word.
    before, message, _ = scan(step, (nothing, nothing, nothing), inputs, num_stacked=2)
    before = before[:, :, 0]
    p = message[:, :, 0] * e
    q = ops.flip(message[:, :, 1], axis=0)
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


def _from_both_ends(forward: Tensor, backward: Tensor) -> Tensor:
    """`(time, batch, 2, ...)`: the inputs of the forward and the backward recursion at each step."""
    return ops.stack([forward, ops.flip(backward, axis=0)], axis=2)


def _times(x: Tensor, matrix: Tensor) -> Tensor:
    """`x @ matrix` for x `(..., labels)` and one matrix `(labels, labels)`, or one for each x."""
    if len(matrix.shape) > 2:
        return (x[..., None, :] @ matrix)[..., 0, :]
    return ops.reshape(rows(x) @ matrix, ops.shape(x))
