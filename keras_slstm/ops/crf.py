"""What can be asked of a linear-chain CRF, as functions on the output of a `CRF` layer (`potentials`)."""

from __future__ import annotations

from keras import ops

from keras_slstm.ops import crf_likelihood, crf_viterbi
from keras_slstm.ops.crf_checks import check_labels
from keras_slstm.ops.crf_likelihood import restricted
from keras_slstm.ops.crf_log_space import incoming, index_before, outgoing, softmax, take_words
from keras_slstm.ops.crf_potentials import FORBIDDEN, PENALTY, Potentials, made_for_addons, unpack
from keras_slstm.ops.masks import is_first
from keras_slstm.ops.value_checks import nan_unless
from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer


def crf_log_partition(potentials: Tensor) -> Tensor:
    """The log of the sum over all sequences of labels of exp(score)."""
    parts = unpack(potentials)
    return ops.sum(parts.unary, axis=(1, 2)) if _is_empty(parts) else crf_likelihood.log_partition(parts)


def crf_sequence_score(potentials: Tensor, labels: Tensor) -> Tensor:
    """The score of one sequence of labels."""
    parts = unpack(potentials)
    labels, valid = check_labels(parts, labels, unknown=False)
    if _is_empty(parts):
        return ops.sum(parts.unary, axis=(1, 2))
    return nan_unless(valid, crf_likelihood.sequence_score(parts, labels))


def crf_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log of the probability of the labels."""
    parts = unpack(potentials)
    labels, valid = check_labels(parts, labels)
    if _is_empty(parts):
        return ops.sum(parts.unary, axis=(1, 2))
    if made_for_addons(potentials):
        from keras_slstm import addons

        return nan_unless(valid, addons.log_likelihood(parts, labels))
    return nan_unless(valid, crf_likelihood.log_likelihood(parts, labels))


def crf_token_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log of the probability of each label, given the labels before it; their sum is the log-likelihood."""
    parts = unpack(potentials)
    labels, valid = check_labels(parts, labels)
    if _is_empty(parts):
        return ops.sum(parts.unary, axis=2)
    known = restricted(parts, labels)
    came, after = incoming(known), outgoing(parts)
    found = ops.logsumexp(came + known.unary + after, axis=2) - ops.logsumexp(came + parts.unary + after, axis=2)
    found = ops.where(found < FORBIDDEN / 2, ops.full_like(found, PENALTY), found)
    return nan_unless(valid, ops.where(parts.mask, found, ops.zeros_like(found)))


def crf_decode(potentials: Tensor) -> Tensor:
    """The best sequence of labels (Viterbi)."""
    parts = unpack(potentials)
    if _is_empty(parts):
        return ops.zeros_like(parts.mask, dtype="int32")
    if made_for_addons(potentials):
        from keras_slstm import addons

        return addons.decode(parts)
    return crf_viterbi.best_labels(parts)


def crf_k_best(potentials: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best sequences of labels."""
    parts = unpack(potentials)
    k = check_integer("k", k, least=1)
    if _is_empty(parts):
        batch, time, _ = ops.shape(parts.unary)
        none = ops.cast(ops.zeros((batch, k)), parts.unary.dtype)
        # A row without a word has one sequence, the empty one.
        return ops.zeros((batch, k, time), "int32"), ops.where(ops.arange(k) > 0, -float("inf"), none)
    return crf_viterbi.k_best_labels(parts, k)


def crf_marginals(potentials: Tensor) -> Tensor:
    """The probability of each label at each word."""
    parts = unpack(potentials)
    return parts.unary if _is_empty(parts) else _marginals(parts)


def crf_entropy(potentials: Tensor) -> Tensor:
    """The entropy of the distribution over all sequences of labels, in nats."""
    parts = unpack(potentials)
    unary, transitions, mask = parts
    if _is_empty(parts):
        return ops.sum(unary, axis=(1, 2))
    marginals = _marginals(parts)
    # Of the first label, and of each label given the one before it.
    onward = unary + outgoing(parts)
    first = _entropy(onward)
    given = _entropy((transitions if parts.pairwise else transitions[None, None]) + onward[:, :, None, :])
    later = ops.sum(take_words(marginals, index_before(mask)) * given, axis=2)
    return ops.sum(ops.where(is_first(mask), first, ops.where(mask, later, ops.zeros_like(later))), axis=1)


def _is_empty(potentials: Potentials) -> bool:
    """Whether the batch is known to hold no row, or rows of no word: Keras' maximum takes no empty tensor."""
    return 0 in potentials.unary.shape


def _marginals(potentials: Potentials) -> Tensor:
    found = softmax(incoming(potentials) + potentials.unary + outgoing(potentials), axis=2)
    return ops.where(potentials.mask[..., None], found, ops.zeros_like(found))


def _entropy(scores: Tensor) -> Tensor:
    """Of the softmax over the last axis."""
    logs = scores - ops.logsumexp(scores, axis=-1, keepdims=True)
    return -ops.sum(ops.exp(logs) * logs, axis=-1)
