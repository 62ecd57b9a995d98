"""Log-partition, score and likelihood of labels, with gradients written by hand.

XLA on TensorFlow finds none of a loop, and what it makes of that of a condition costs more than the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from keras import ops

from keras_slstm.ops import crf_log_space, crf_scaled
from keras_slstm.ops.crf_log_space import Score, differentiable_once, index_before, rows, take_words
from keras_slstm.ops.crf_potentials import FORBIDDEN, PENALTY, Potentials
from keras_slstm.ops.masks import is_first
from keras_slstm.types import Tensor

# Beside given labels no other is possible, not even by way of a forbidden one.
_EXCLUDED = 1e3 * FORBIDDEN


def log_partition(potentials: Potentials) -> Tensor:
    """The log of the sum over all sequences of labels of exp(score), `(batch,)`; 0 where a row has no word."""
    return _with_gradient(_expected, potentials)


def sequence_score(potentials: Potentials, labels: Tensor) -> Tensor:
    """The score of labels that are all known, `(batch,)`; what is forbidden in it counts `PENALTY`."""
    return _with_gradient(lambda parts: _given(parts, labels), potentials)


def log_likelihood(potentials: Potentials, labels: Tensor) -> Tensor:
    """The log of the probability of the labels, `(batch,)`; unknown ones are summed over."""

    def likelihood(parts: Potentials) -> Score:
        known = ops.all(~parts.mask | _existing(parts, labels))
        given = _given(parts, labels)
        expected, reliable = crf_scaled.log_partition(parts)

        def carefully() -> Score:
            possible = _either(known, given, lambda: _expected_of_known(parts, labels))
            return _difference(possible, _either(reliable, expected, lambda: crf_log_space.log_partition(parts)))

        # One condition for what is usual: each costs as much as a few words.
        return _either(known & reliable, _difference(given, expected), carefully)

    return _with_gradient(likelihood, potentials)


def restricted(potentials: Potentials, labels: Tensor) -> Potentials:
    """The potentials of the labels only that agree with the known ones, `(batch, time)`: of all where none is known."""
    agrees = _one_hot(labels, potentials.unary.shape[2]) | ~_existing(potentials, labels)[..., None]
    return potentials._replace(unary=ops.where(agrees, potentials.unary, ops.full_like(potentials.unary, _EXCLUDED)))


def _with_gradient(function: Callable[[Potentials], Score], potentials: Potentials) -> Tensor:
    """The score that a function finds together with its gradient, as a tensor that can be differentiated."""

    @ops.custom_gradient
    def compute(unary: Tensor, transitions: Tensor, real: Tensor) -> tuple:
        found = function(Potentials(ops.stop_gradient(unary), ops.stop_gradient(transitions), real > 0.5))

        def gradient(*inputs: Tensor, upstream: Tensor | None = None) -> tuple:
            # PyTorch hands over the inputs, and the gradient by its name.
            inputs, upstream = ((unary, transitions), inputs[0]) if upstream is None else (inputs[:2], upstream)
            return (*differentiable_once(found.gradient(upstream), inputs), ops.zeros_like(real))

        return found.value, gradient

    return compute(potentials.unary, potentials.transitions, ops.cast(potentials.mask, potentials.unary.dtype))


def _either(condition: Tensor, score: Score, otherwise: Callable[[], Score]) -> Score:
    """`score` where a condition holds; else another one, which is worked out only then, and again for the gradient."""

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        return ops.cond(condition, lambda: score.gradient(upstream), lambda: otherwise().gradient(upstream))

    return Score(ops.cond(condition, lambda: score.value, lambda: otherwise().value), gradient)


def _difference(score: Score, other: Score) -> Score:
    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        (unary, transitions), (other_unary, other_transitions) = score.gradient(upstream), other.gradient(upstream)
        return unary - other_unary, transitions - other_transitions

    return Score(score.value - other.value, gradient)


def _expected(potentials: Potentials) -> Score:
    """The log-partition: in probabilities, or in log space where numbers would get too small."""
    found, reliable = crf_scaled.log_partition(potentials)
    return _either(reliable, found, lambda: crf_log_space.log_partition(potentials))


def _expected_of_known(potentials: Potentials, labels: Tensor) -> Score:
    """The log of the sum over all sequences of labels that agree with those that are known."""
    found = _expected(restricted(potentials, labels))
    impossible = _forbidden(found.value)
    value = ops.where(impossible, PENALTY * ops.round(found.value / FORBIDDEN), found.value)
    # A penalty has no gradient.
    return Score(value, lambda upstream: found.gradient(_unless(impossible, upstream)))


def _given(potentials: Potentials, labels: Tensor) -> Score:
    """The score of labels that are all known."""
    unary, transitions, mask = potentials
    k = unary.shape[2]
    before = take_words(labels, index_before(mask))
    later = mask & ~is_first(mask)
    here = _one_hot(labels, k) & mask[..., None]
    came = _one_hot(before, k) & later[..., None]
    if potentials.pairwise:
        steps = ops.sum(_unless(~(came[..., None] & here[:, :, None]), _penalized(transitions)), axis=(2, 3))
    else:
        pair = ops.clip(before, 0, k - 1) * k + ops.clip(labels, 0, k - 1)
        steps = _unless(~later, ops.take(ops.reshape(_penalized(transitions), (-1,)), pair))
    value = ops.sum(_unless(~here, _penalized(unary)), axis=(1, 2)) + ops.sum(steps, axis=1)

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        scaled = _unless(~here, ops.zeros_like(unary) + upstream[:, None, None])
        if potentials.pairwise:
            pairs = _unless(~came[..., None], ops.zeros_like(transitions) + scaled[:, :, None])
        else:
            pairs = ops.transpose(rows(ops.cast(came, unary.dtype))) @ rows(scaled)
        # A penalty has no gradient.
        return _unless(_forbidden(unary), scaled), _unless(_forbidden(transitions), pairs)

    return Score(value, gradient)


def _existing(potentials: Potentials, labels: Tensor) -> Tensor:
    return (labels >= 0) & (labels < potentials.unary.shape[2])


def _one_hot(labels: Tensor, size: int) -> Tensor:
    return labels[..., None] == ops.arange(size, dtype="int32")


def _forbidden(scores: Tensor) -> Tensor:
    return scores < FORBIDDEN / 2


def _penalized(scores: Tensor) -> Tensor:
    return ops.where(_forbidden(scores), ops.full_like(scores, PENALTY), scores)


def _unless(condition: Tensor, x: Tensor) -> Tensor:
    return ops.where(condition, ops.zeros_like(x), x)
