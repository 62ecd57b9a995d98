"""What can be asked of a linear-chain CRF, as functions on the output of a `CRF` layer (`potentials`)."""

from __future__ import annotations

import numpy as np
from keras import ops

from keras_slstm.ops import crf_likelihood, crf_viterbi
from keras_slstm.ops.crf_likelihood import UNKNOWN, restricted
from keras_slstm.ops.crf_log_space import incoming, index_before, outgoing, softmax, take_words
from keras_slstm.ops.crf_potentials import FORBIDDEN, PENALTY, Potentials, made_for_addons, unpack
from keras_slstm.ops.masks import is_first
from keras_slstm.types import Tensor


def crf_log_partition(potentials: Tensor) -> Tensor:
    """The log of the sum over all sequences of labels of exp(score)."""
    return crf_likelihood.log_partition(unpack(potentials))


def crf_sequence_score(potentials: Tensor, labels: Tensor) -> Tensor:
    """The score of one sequence of labels."""
    parts = unpack(potentials)
    return crf_likelihood.sequence_score(parts, check_labels(parts, labels))


def crf_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log of the probability of the labels."""
    parts = unpack(potentials)
    labels = check_labels(parts, labels)
    if made_for_addons(potentials):
        from keras_slstm import addons

        return addons.log_likelihood(parts, labels)
    return crf_likelihood.log_likelihood(parts, labels)


def crf_token_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log of the probability of each label, given the labels before it; their sum is the log-likelihood."""
    parts = unpack(potentials)
    labels = check_labels(parts, labels)
    known = restricted(parts, labels)
    came, after = incoming(known), outgoing(parts)
    found = ops.logsumexp(came + known.unary + after, axis=2) - ops.logsumexp(came + parts.unary + after, axis=2)
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
