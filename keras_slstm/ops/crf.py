"""What can be asked of a linear-chain CRF, as functions on the output of a `CRF` layer (`potentials`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from keras_slstm.ops import crf_scaled, crf_viterbi
from keras_slstm.ops.crf_log_space import incoming, index_before, outgoing, softmax, take_words
from keras_slstm.ops.crf_potentials import FORBIDDEN, PENALTY, Potentials, made_for_addons, unpack
from keras_slstm.ops.masks import is_first

Tensor = Any

UNKNOWN = -1
# Beside given labels no other is possible, not even by way of a forbidden one.
_EXCLUDED = 1e3 * FORBIDDEN


def crf_log_partition(potentials: Tensor) -> Tensor:
    """The log of the sum over all sequences of labels of exp(score)."""
    return crf_scaled.log_partition(unpack(potentials))


def crf_sequence_score(potentials: Tensor, labels: Tensor) -> Tensor:
    """The score of one sequence of labels."""
    parts = unpack(potentials)
    return _sequence_score(parts, check_labels(parts, labels))


def crf_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log of the probability of the labels."""
    parts = unpack(potentials)
    labels = check_labels(parts, labels)
    if made_for_addons(potentials):
        from keras_slstm import addons

        return addons.log_likelihood(parts, labels)
    existing = _existing(parts, labels)
    unknown = ops.any(parts.mask & ~existing)
    score = ops.cond(unknown, lambda: _score_of_known(parts, labels, existing), lambda: _sequence_score(parts, labels))
    return score - crf_scaled.log_partition(parts)


def crf_token_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log of the probability of each label, given the labels before it; their sum is the log-likelihood."""
    parts = unpack(potentials)
    labels = check_labels(parts, labels)
    agrees = _agrees(parts, labels)
    known = parts._replace(unary=ops.where(agrees, parts.unary, ops.full_like(parts.unary, _EXCLUDED)))
    scores = incoming(known) + parts.unary + outgoing(parts)
    chosen = ops.logsumexp(ops.where(agrees, scores, ops.full_like(scores, _EXCLUDED)), axis=2)
    found = chosen - ops.logsumexp(scores, axis=2)
    found = ops.where(found < FORBIDDEN / 2, ops.full_like(found, PENALTY), found)
    return ops.where(parts.mask, found, ops.zeros_like(found))


def crf_decode(potentials: Tensor) -> Tensor:
    """The best sequence of labels (Viterbi)."""
    parts = unpack(potentials)
    if made_for_addons(potentials):
        from keras_slstm import addons

        return addons.decode(parts)
    return crf_viterbi.best_labels(parts)


def crf_k_best(potentials: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best sequences of labels."""
    return crf_viterbi.k_best_labels(unpack(potentials), k)


def crf_marginals(potentials: Tensor) -> Tensor:
    """The probability of each label at each word."""
    return _marginals(unpack(potentials))


def crf_entropy(potentials: Tensor) -> Tensor:
    """The entropy of the distribution over all sequences of labels, in nats."""
    parts = unpack(potentials)
    unary, transitions, mask = parts
    marginals = _marginals(parts)
    # Of the first label, and of each label given the one before it.
    onward = unary + outgoing(parts)
    first = _entropy(onward)
    given = _entropy((transitions if parts.pairwise else transitions[None, None]) + onward[:, :, None, :])
    later = ops.sum(take_words(marginals, index_before(mask)) * given, axis=2)
    return ops.sum(ops.where(is_first(mask), first, ops.where(mask, later, ops.zeros_like(later))), axis=1)


def _marginals(potentials: Potentials) -> Tensor:
    found = softmax(incoming(potentials) + potentials.unary + outgoing(potentials), axis=2)
    return ops.where(potentials.mask[..., None], found, ops.zeros_like(found))


def _entropy(scores: Tensor) -> Tensor:
    """Of the softmax over the last axis."""
    logs = scores - ops.logsumexp(scores, axis=-1, keepdims=True)
    return -ops.sum(ops.exp(logs) * logs, axis=-1)


def _sequence_score(potentials: Potentials, labels: Tensor) -> Tensor:
    unary, transitions = _penalized(potentials.unary), _penalized(potentials.transitions)
    mask = potentials.mask
    here = _one_hot(labels, potentials) & mask[..., None]
    before = _one_hot(take_words(labels, index_before(mask)), potentials) & (mask & ~is_first(mask))[..., None]
    score = ops.sum(ops.where(here, unary, ops.zeros_like(unary)), axis=(1, 2))
    if potentials.pairwise:
        steps = ops.where(before[..., None] & here[:, :, None], transitions, ops.zeros_like(transitions))
        return score + ops.sum(steps, axis=(1, 2, 3))
    here, before = ops.cast(here, unary.dtype), ops.cast(before, unary.dtype)
    return score + ops.sum((ops.transpose(before, (0, 2, 1)) @ here) * transitions, axis=(1, 2))


def _score_of_known(potentials: Potentials, labels: Tensor, existing: Tensor) -> Tensor:
    """The log of the sum over all sequences of labels that agree with those that are known."""
    agrees = _agrees(potentials, labels)
    unary = ops.where(agrees, potentials.unary, ops.full_like(potentials.unary, _EXCLUDED))
    score = crf_scaled.log_partition(potentials._replace(unary=unary))
    score = ops.where(score < FORBIDDEN / 2, PENALTY * ops.round(score / FORBIDDEN), score)
    wrong = potentials.mask & ~existing & (labels != UNKNOWN)
    return score + PENALTY * ops.sum(ops.cast(wrong, score.dtype), axis=1)


def _agrees(potentials: Potentials, labels: Tensor) -> Tensor:
    """`(batch, time, labels)` bool: what agrees with known labels; all where the label is unknown."""
    return _one_hot(labels, potentials) | ~_existing(potentials, labels)[..., None]


def _existing(potentials: Potentials, labels: Tensor) -> Tensor:
    return (labels >= 0) & (labels < potentials.unary.shape[2])


def _one_hot(labels: Tensor, potentials: Potentials) -> Tensor:
    return labels[..., None] == ops.arange(potentials.unary.shape[2], dtype="int32")


def _penalized(scores: Tensor) -> Tensor:
    return ops.where(scores < FORBIDDEN / 2, ops.full_like(scores, PENALTY), scores)


def check_labels(potentials: Potentials, labels: Tensor) -> Tensor:
    """Labels as int32; raise ValueError where they cannot be labels of these potentials."""
    labels = ops.convert_to_tensor(labels)
    shape, expected = tuple(labels.shape), tuple(potentials.mask.shape)
    known = [pair for pair in zip(shape, expected) if all(isinstance(size, int) for size in pair)]
    if len(shape) != 2 or any(size != wanted for size, wanted in known):
        raise ValueError(
            f"Expected labels of shape (batch, time) = {expected}, a number for each word, "
            f"but got labels of shape {shape}."
        )
    values, real = _value(labels), _value(potentials.mask)
    if values is not None and real is not None:
        wrong = real & ((values != np.round(values)) | (values < UNKNOWN) | (values >= potentials.unary.shape[2]))
        if np.any(wrong):
            row, position = np.argwhere(wrong)[0]
            raise ValueError(
                f"Expected labels from 0 to {potentials.unary.shape[2] - 1}, or {UNKNOWN} for an unknown one, "
                f"but got {values[row, position]} in row {row}, at position {position}."
            )
    return ops.cast(labels, "int32")


def _value(x: Tensor) -> np.ndarray | None:
    """A tensor's value, or None while its function is being traced."""
    try:
        return np.asarray(ops.convert_to_numpy(x))
    except Exception:
        return None
