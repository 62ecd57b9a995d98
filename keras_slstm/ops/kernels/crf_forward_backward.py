"""Partition function, score and likelihood of a linear-chain CRF, with hand-written gradients.

XLA on TensorFlow cannot differentiate a loop of unknown length, and its gradient of a condition costs more than
everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_slstm.ops import crf as equation
from keras_slstm.ops.backend.eager import cond, runs_torch_eagerly
from keras_slstm.ops.crf import Potentials, is_forbidden, one_hot, penalized, restricted
from keras_slstm.ops.kernels import crf_log_space, crf_scaled
from keras_slstm.ops.kernels.crf_log_space import Score, once_differentiable, rows
from keras_slstm.ops.masks import is_first
from keras_slstm.ops.positions import index_before, take_words
from keras_slstm.ops.reference import kernel_of
from keras_slstm.types import Tensor, Tensors


@kernel_of(equation.log_partition)
def log_partition(potentials: Potentials) -> Tensor:
    """Always used: scaled probabilities, 7 to 20 times faster, or log space where these underflow."""
    return _with_gradient(_log_z, potentials)


@kernel_of(equation.sequence_score)
def sequence_score(potentials: Potentials, labels: Tensor) -> Tensor:
    """Always used: computes all words together, without a loop."""
    return _with_gradient(lambda parts: _score(parts, labels), potentials)


@kernel_of(equation.log_likelihood)
def log_likelihood(potentials: Potentials, labels: Tensor) -> Tensor:
    """Always used: if all labels of the batch are known, their score replaces a second forward recursion."""

    def likelihood(parts: Potentials) -> Score:
        if runs_torch_eagerly(*parts, labels):
            from keras_slstm.ops.kernels import crf_torch

            score, log_z, reliable, known = crf_torch.likelihood(parts, labels)
        else:
            known = ops.all(~parts.mask | ops.any(one_hot(labels, parts.unary.shape[2]), axis=2))
            score = _score(parts, labels)
            log_z, reliable = crf_scaled.log_partition(parts)

        def accurate() -> Score:
            log_y = _choose(known, score, lambda: _log_z_of_known(parts, labels))
            return _difference(log_y, _choose(reliable, log_z, lambda: crf_log_space.log_partition(parts)))

        # One condition for the usual case: each costs as much as a few words.
        return _choose(known & reliable, _difference(score, log_z), accurate)

    return _with_gradient(likelihood, potentials)


def _with_gradient(function: Callable[[Potentials], Score], potentials: Potentials) -> Tensor:
    """Return the value of a `Score` with its gradient attached."""
    if runs_torch_eagerly(*potentials):
        from keras_slstm.ops.kernels import crf_torch

        return crf_torch.with_gradient(function, potentials)

    @ops.custom_gradient
    def compute(unary: Tensor, transitions: Tensor, mask_f: Tensor) -> tuple[Any, ...]:
        found = function(Potentials(ops.stop_gradient(unary), ops.stop_gradient(transitions), mask_f > 0.5))

        def gradient(*inputs: Tensor, upstream: Tensor | None = None) -> Tensors:
            # PyTorch passes the inputs by position and the gradient by name.
            inputs, upstream = ((unary, transitions), inputs[0]) if upstream is None else (inputs[:2], upstream)
            return (*once_differentiable(found.gradient(upstream), inputs), ops.zeros_like(mask_f))

        return found.value, gradient

    return compute(potentials.unary, potentials.transitions, ops.cast(potentials.mask, potentials.unary.dtype))


def _choose(condition: Tensor, score: Score, otherwise: Callable[[], Score]) -> Score:
    """Return `score` if a condition holds, else another score, computed only then and again for the gradient."""

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        found: tuple[Tensor, Tensor] = cond(
            condition, lambda: score.gradient(upstream), lambda: otherwise().gradient(upstream)
        )
        return found

    return Score(cond(condition, lambda: score.value, lambda: otherwise().value), gradient)


def _difference(score: Score, other: Score) -> Score:
    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        (unary, transitions), (other_unary, other_transitions) = score.gradient(upstream), other.gradient(upstream)
        return unary - other_unary, transitions - other_transitions

    return Score(score.value - other.value, gradient)


def _log_z(potentials: Potentials) -> Score:
    """Log Z from scaled probabilities, or in log space where these underflow."""
    found, reliable = crf_scaled.log_partition(potentials)
    return _choose(reliable, found, lambda: crf_log_space.log_partition(potentials))


def _log_z_of_known(potentials: Potentials, labels: Tensor) -> Score:
    """The log-sum over all label sequences that agree with the known labels."""
    found = _log_z(restricted(potentials, labels))
    return Score(found.value, lambda upstream: _without_penalties(potentials, *found.gradient(upstream)))


def _score(potentials: Potentials, labels: Tensor) -> Score:
    """The score of known labels."""
    if runs_torch_eagerly(*potentials):
        from keras_slstm.ops.kernels import crf_torch

        return crf_torch.score(potentials, labels)
    unary, transitions, mask = penalized(potentials)
    k = unary.shape[2]
    before = take_words(labels, index_before(mask))
    later = mask & ~is_first(mask)
    here = one_hot(labels, k) & mask[..., None]
    previous = one_hot(before, k) & later[..., None]
    if potentials.pairwise:
        steps = ops.sum(_zero_where(~(previous[..., None] & here[:, :, None]), transitions), axis=(2, 3))
    else:
        pair = ops.clip(before, 0, k - 1) * k + ops.clip(labels, 0, k - 1)
        steps = _zero_where(~later, ops.take(ops.reshape(transitions, (-1,)), pair))
    value = ops.sum(_zero_where(~here, unary), axis=(1, 2)) + ops.sum(steps, axis=1)

    def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
        scaled = _zero_where(~here, ops.zeros_like(unary) + upstream[:, None, None])
        if potentials.pairwise:
            pairs = _zero_where(~previous[..., None], ops.zeros_like(transitions) + scaled[:, :, None])
        else:
            pairs = ops.transpose(rows(ops.cast(previous, unary.dtype))) @ rows(scaled)
        return _without_penalties(potentials, scaled, pairs)

    return Score(value, gradient)


def _without_penalties(potentials: Potentials, d_unary: Tensor, d_transitions: Tensor) -> tuple[Tensor, Tensor]:
    """Zero the gradients of scores that the constant penalty replaced."""
    d_unary = _zero_where(is_forbidden(potentials.unary), d_unary)
    return d_unary, _zero_where(is_forbidden(potentials.transitions), d_transitions)


def _zero_where(condition: Tensor, x: Tensor) -> Tensor:
    return ops.where(condition, ops.zeros_like(x), x)
