"""What can be asked of a linear-chain CRF, as functions on the output of a `CRF` layer (`potentials`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from keras_slstm.ops import crf_viterbi
from keras_slstm.ops.crf_log_space import incoming, is_first, is_last, outgoing
from keras_slstm.ops.crf_potentials import FORBIDDEN, Potentials, unpack

Tensor = Any


def crf_log_partition(potentials: Tensor) -> Tensor:
    """The log of the sum, over all allowed sequences of labels, of exp(score): `(batch,)`; 0 for an empty row."""
    return _log_partition(unpack(potentials))


def _log_partition(potentials: Potentials) -> Tensor:
    last = is_last(potentials.mask)[..., None]
    scores = incoming(potentials) + potentials.unary
    return ops.sum(ops.where(last[..., 0], ops.logsumexp(scores, axis=2), ops.zeros_like(scores[..., 0])), axis=1)


def crf_sequence_score(potentials: Tensor, labels: Tensor) -> Tensor:
    """The score of one sequence of labels, `(batch,)`."""
    parts = unpack(potentials)
    return _sequence_score(parts, _check_labels(parts, labels))


def _sequence_score(potentials: Potentials, labels: Tensor) -> Tensor:
    unary, transitions, mask = potentials
    chosen = (ops.arange(unary.shape[2]) == labels[..., None]) & mask[..., None]
    zeros = ops.zeros_like(unary)
    own = ops.where(chosen, unary, zeros)
    # The label of the real word before, carried over masked positions.
    before = _label_before(labels, mask)
    came = (ops.arange(unary.shape[2]) == before[..., None]) & (mask & ~is_first(mask))[..., None]
    came = ops.cast(came, unary.dtype)
    if len(transitions.shape) == 2:
        rows = came @ transitions
    else:
        rows = (came[:, :, None] @ transitions)[:, :, 0]
    return ops.sum(own + ops.where(chosen, rows, zeros), axis=(1, 2))


def _label_before(labels: Tensor, mask: Tensor) -> Tensor:
    """`(batch, time)`: the label of the last real word before each position; 0 where there is none."""
    from keras_slstm.ops.accumulate import accumulate

    def step(state: tuple, at_time: tuple) -> tuple:
        now, _ = state
        label, real = at_time
        return ops.where(real, label, now), now

    none = ops.sum(ops.zeros_like(labels), axis=1)
    states = accumulate(step, (none, none), (ops.transpose(labels), ops.transpose(mask)))
    return ops.transpose(states[1])


def crf_log_likelihood(potentials: Tensor, labels: Tensor) -> Tensor:
    """The log of the probability of the labels, `(batch,)`; unknown labels (-1) are summed over."""
    parts = unpack(potentials)
    labels = _check_labels(parts, labels)
    agrees = (ops.arange(parts.unary.shape[2]) == labels[..., None]) | (labels == -1)[..., None]
    restricted = ops.where(agrees, parts.unary, ops.full_like(parts.unary, FORBIDDEN))
    return _log_partition(parts._replace(unary=restricted)) - _log_partition(parts)


def crf_decode(potentials: Tensor) -> Tensor:
    """The best sequence of labels (Viterbi), `(batch, time)` int32; 0 at masked positions."""
    return crf_viterbi.best_labels(unpack(potentials))


def crf_k_best(potentials: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best sequences of labels, `(batch, k, time)` int32, and their scores, `(batch, k)`, best first."""
    return crf_viterbi.k_best_labels(unpack(potentials), k)


def crf_marginals(potentials: Tensor) -> Tensor:
    """The probability of each label at each word, `(batch, time, labels)`; 0 at masked positions."""
    parts = unpack(potentials)
    scores = ops.softmax(incoming(parts) + parts.unary + outgoing(parts), axis=2)
    return ops.where(parts.mask[..., None], scores, ops.zeros_like(scores))


def crf_entropy(potentials: Tensor) -> Tensor:
    """The entropy, in nats, of the distribution over all sequences of labels, `(batch,)`."""
    raise NotImplementedError


def _check_labels(potentials: Potentials, labels: Tensor) -> Tensor:
    labels = np.asarray(labels) if isinstance(labels, (list, tuple)) else labels
    return ops.cast(ops.convert_to_tensor(labels), "int32")
