"""The linear-chain conditional random field (Lafferty, McCallum and Pereira, 2001), in log space.

With the labels y_1 ... y_n of the n words of a sentence,

    score(y) = sum_i unary_i[y_i] + sum_{i > 1} transitions[y_{i-1}, y_i]
    p(y)     = exp(score(y)) / Z,    Z = sum_y' exp(score(y'))

The chain skips masked positions.
"""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from keras_slstm.ops.backend.argmax import argmax
from keras_slstm.ops.backend.concatenate import concatenate
from keras_slstm.ops.backend.scan import scan
from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.masks import is_first
from keras_slstm.types import Tensor, Tensors

# An unknown label: the likelihood sums over all its possible values.
UNKNOWN = -1
# The score of a forbidden label or transition: finite, but far below any sum of other scores.
FORBIDDEN = -1e30
# Replaces `FORBIDDEN` in the score of given labels, so that the loss is large but readable.
PENALTY = -1e4


class Potentials(NamedTuple):
    """The scores of a linear-chain CRF.

    Attributes:
        unary: `(batch, time, labels)`, the label scores of each word, to which boundary scores are added at the first
            and the last word; 0 at masked positions.
        transitions: `(labels, labels)`, [from, to], shared by all words; or, in the pairwise form, `(batch, time,
            labels, labels)`, into each word from the previous one. Not used at the first word.
        mask: `(batch, time)` bool.
    """

    unary: Tensor
    transitions: Tensor
    mask: Tensor

    @property
    def pairwise(self) -> bool:
        """Whether each word has its own transitions."""
        return len(self.transitions.shape) == 4


def sequence_score(potentials: Potentials, labels: Tensor) -> Tensor:
    """score(y), `(batch,)`, of known labels y, `(batch, time)` int32; a forbidden label or pair scores `PENALTY`."""
    unary, transitions, mask = _by_time(penalized(potentials))
    here = ops.cast(one_hot(time_first(labels), unary.shape[2]), unary.dtype)

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        score, before = state
        u, T, y, mask_t = at_time
        added = ops.sum(u * y, axis=1) + ops.sum(ops.expand_dims(before, 2) * T * ops.expand_dims(y, 1), axis=(1, 2))
        return ops.where(mask_t[:, 0], score + added, score), ops.where(mask_t, y, before)

    nothing = _zeros(unary)  # the first word has no previous label
    return scan(step, (nothing[:, 0], nothing), (unary, transitions, here, mask), num_stacked=0)[0]


def log_partition(potentials: Potentials) -> Tensor:
    """Log Z, `(batch,)`, by the forward recursion; 0 for a row without a word.

    alpha_1[y] = unary_1[y]
    alpha_i[y] = unary_i[y] + log sum_y' exp(alpha_{i-1}[y'] + transitions[y', y])
    log Z = log sum_y exp(alpha_n[y])
    """
    unary, transitions, mask = _by_time(potentials)

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        (alpha,) = state
        u, T, mask_t, first_t = at_time
        message = ops.logsumexp(ops.expand_dims(alpha, 2) + T, axis=1)
        return (ops.where(mask_t, u + ops.where(first_t, ops.zeros_like(message), message), alpha),)

    inputs = (unary, transitions, mask, _first(potentials))
    (alpha,) = scan(step, (_zeros(unary),), inputs, num_stacked=0)
    log_z = ops.logsumexp(alpha, axis=1)
    return ops.where(ops.any(potentials.mask, axis=1), log_z, ops.zeros_like(log_z))


def log_likelihood(potentials: Potentials, labels: Tensor) -> Tensor:
    """Log p(y), `(batch,)`, marginalised over unknown labels."""
    return log_partition(restricted(potentials, labels)) - log_partition(potentials)


def incoming(potentials: Potentials) -> Tensor:
    """Log-sums over the labels before each word, given its label, `(batch, time, labels)`; 0 at masked positions.

    incoming_1[y] = 0
    incoming_i[y] = log sum_y' exp(incoming_{i-1}[y'] + unary_{i-1}[y'] + transitions[y', y]) - constant

    A constant per word keeps the values small in long sentences; it cancels wherever these sums are used.
    """
    unary, transitions, mask = _by_time(potentials)

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        _, alpha = state
        u, T, mask_t, first_t = at_time
        message = ops.logsumexp(ops.expand_dims(alpha, 2) + T, axis=1)
        message = ops.where(first_t | ~mask_t, ops.zeros_like(message), message)
        return message, ops.where(mask_t, _shifted(message + u), alpha)

    inputs = (unary, transitions, mask, _first(potentials))
    return time_first(scan(step, (_zeros(unary), _zeros(unary)), inputs, num_stacked=1)[0])


def outgoing(potentials: Potentials) -> Tensor:
    """Log-sums over the labels after each word, given its label, `(batch, time, labels)`; 0 at masked positions.

    outgoing_n[y] = 0
    outgoing_i[y] = log sum_y' exp(transitions[y, y'] + unary_{i+1}[y'] + outgoing_{i+1}[y']) - constant
    """
    unary, transitions, mask = _by_time(potentials)

    def step(state: Tensors, at_time: Tensors) -> Tensors:
        _, message = state
        u, T, mask_t = at_time
        before = ops.logsumexp(T + ops.expand_dims(_shifted(u + message), 1), axis=2)
        return ops.where(mask_t, message, ops.zeros_like(message)), ops.where(mask_t, before, message)

    initial = (_zeros(unary), _zeros(unary))
    return time_first(scan(step, initial, (unary, transitions, mask), reverse=True, num_stacked=1)[0])


def marginals(potentials: Potentials) -> Tensor:
    """p(y_i = y) at each word i, `(batch, time, labels)`; 0 at masked positions."""
    found = softmax(incoming(potentials) + potentials.unary + outgoing(potentials), axis=2)
    return ops.where(ops.expand_dims(potentials.mask, -1), found, ops.zeros_like(found))


def best_labels(potentials: Potentials) -> Tensor:
    """The highest-scoring labels, `(batch, time)` int32, by the Viterbi algorithm; 0 at masked positions.

    best_1[y] = unary_1[y]
    best_i[y] = unary_i[y] + max_y' (best_{i-1}[y'] + transitions[y', y]),   backpointer_i[y] = the y' of the maximum
    y_n = argmax_y best_n[y],   y_{i-1} = backpointer_i[y_i]
    """
    unary, transitions, mask = _by_time(potentials)
    stay = ops.cast(_zeros(unary), "int32") + ops.arange(0, unary.shape[2], dtype="int32")

    def forward(state: Tensors, at_time: Tensors) -> Tensors:
        _, best = state
        u, T, mask_t, first_t = at_time
        scores = ops.expand_dims(best, 2) + T
        message = ops.where(first_t, ops.zeros_like(best), amax(scores, axis=1))
        backpointer = argmax(scores, axis=1)
        return ops.where(mask_t, backpointer, stay), ops.where(mask_t, u + message, best)

    inputs = (unary, transitions, mask, _first(potentials))
    backpointers, best = scan(forward, (stay, _zeros(unary)), inputs, num_stacked=1)

    def backward(state: Tensors, at_time: Tensors) -> Tensors:
        (label,) = state
        (backpointer,) = at_time
        here = one_hot(label, unary.shape[2])  # jax2onnx supports no `take_along_axis` in a loop
        return (ops.cast(ops.sum(ops.where(here, backpointer, 0), axis=1), label.dtype),)

    label = argmax(best, axis=1)
    (before,) = scan(backward, (label,), (backpointers,), reverse=True)
    labels = ops.transpose(concatenate([before, ops.expand_dims(label, 0)], axis=0)[1:])
    return ops.where(potentials.mask, labels, ops.zeros_like(labels))


def penalized(potentials: Potentials) -> Potentials:
    """Replace forbidden scores by `PENALTY`, a constant."""
    unary, transitions = (
        ops.where(is_forbidden(x), ops.full_like(x, PENALTY), x) for x in (potentials.unary, potentials.transitions)
    )
    return Potentials(unary, transitions, potentials.mask)


def restricted(potentials: Potentials, labels: Tensor) -> Potentials:
    """Penalize the potentials and forbid all labels that contradict the known ones, `(batch, time)`."""
    potentials = penalized(potentials)
    agree = one_hot(labels, potentials.unary.shape[2]) | ops.expand_dims(labels == UNKNOWN, -1)
    agree = agree | ~ops.expand_dims(potentials.mask, -1)
    return potentials._replace(unary=ops.where(agree, potentials.unary, ops.full_like(potentials.unary, FORBIDDEN)))


def is_forbidden(scores: Tensor) -> Tensor:
    """Whether each score is that of a forbidden label or transition."""
    return scores < FORBIDDEN / 2


def bounded(scores: Tensor) -> Tensor:
    """Replace -inf by `FORBIDDEN`, because all sums of scores must be finite: -inf minus -inf is NaN."""
    return ops.where(scores < FORBIDDEN, ops.full_like(scores, FORBIDDEN), scores)


def one_hot(labels: Tensor, size: int) -> Tensor:
    """`(..., size)` bool, True at the index of each label; all False for a label that does not exist."""
    return ops.expand_dims(labels, -1) == ops.arange(0, size, dtype="int32")


def softmax(x: Tensor, axis: int) -> Tensor:
    """Like `keras.ops.softmax`, without its warning about axes of size 1: a CRF may have one label."""
    weights = ops.exp(x - amax(x, axis=axis, keepdims=True))
    return weights / ops.sum(weights, axis=axis, keepdims=True)


def time_first(x: Tensor) -> Tensor:
    """Swap the first two axes."""
    return ops.transpose(x, (1, 0, *range(2, len(x.shape))))


def _by_time(potentials: Potentials) -> Potentials:
    """Potentials with time first: transitions `(time, batch or 1, from, to)`, mask `(time, batch, 1)`."""
    unary, transitions, mask = potentials
    if not potentials.pairwise:
        transitions = ops.broadcast_to(transitions, (ops.shape(mask)[1], *transitions.shape))
        transitions = ops.expand_dims(transitions, 0)
    return Potentials(time_first(unary), time_first(transitions), ops.expand_dims(time_first(mask), -1))


def _first(potentials: Potentials) -> Tensor:
    """`(time, batch, 1)` bool, True at first words."""
    return ops.expand_dims(time_first(is_first(potentials.mask)), -1)


def _zeros(unary: Tensor) -> Tensor:
    """`(batch, labels)`, from unary scores `(time, batch, labels)`."""
    return ops.sum(ops.zeros_like(unary), axis=0)


def _shifted(x: Tensor) -> Tensor:
    return x - ops.stop_gradient(amax(x, axis=1, keepdims=True))
