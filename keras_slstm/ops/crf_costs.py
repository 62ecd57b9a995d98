"""Costs of wrong labels, and label weights, for training a CRF.

Softmax-margin (Gimpel and Smith, 2010) and structured hinge (Taskar, Guestrin and Koller, 2003) add a cost to the score
of each wrong label. The label-weighted likelihood is that of de Lannoy et al. (2012).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from keras_slstm.ops.backend.traceable import amax
from keras_slstm.ops.crf import UNKNOWN, Potentials, is_forbidden, restricted
from keras_slstm.ops.kernels.crf_forward_backward import sequence_score
from keras_slstm.ops.kernels.crf_log_space import incoming
from keras_slstm.ops.kernels.viterbi import best_labels
from keras_slstm.ops.masks import is_first
from keras_slstm.ops.positions import index_before, take_words
from keras_slstm.types import Tensor


def check_label_weights(weights: Any) -> list[float]:
    """Return label weights as a list; raise ValueError unless they are finite numbers of at least 0."""
    found = np.asarray(weights)
    if found.ndim != 1 or found.dtype.kind not in "iuf" or not np.all(np.isfinite(found) & (found >= 0)):
        raise ValueError(f"`label_weights` must be a list of finite numbers >= 0, one per label, but got {weights!r}.")
    return [float(x) for x in found]


def check_cost(cost: Any) -> float | list[list[float]]:
    """Return a cost as a number or as rows; raise ValueError if it is invalid."""
    found = np.asarray(cost)
    if found.dtype.kind not in "iuf" or not np.all(np.isfinite(found) & (found >= 0)):
        raise ValueError(f"`cost` must hold finite numbers >= 0, but got {cost!r}.")
    if found.ndim == 0:
        return float(found)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ValueError(f"`cost` must be a number or a matrix (labels, labels), but got shape {found.shape}.")
    if np.any(np.diag(found)):
        raise ValueError(f"`cost` must be 0 for the correct label, but its diagonal is {np.diag(found)}.")
    return [[float(x) for x in row] for row in found]


def with_label_weights(potentials: Potentials, weights: list[float], transitions: bool) -> Potentials:
    """Multiply the scores of each label by its weight.

    Args:
        potentials: The potentials.
        weights: A weight for each label.
        transitions: Whether to multiply transition scores, too, by the weight of the label they leave.
    """
    w = _label_array(potentials, weights, "label_weights")
    unary = _scaled(potentials.unary, w)
    return potentials._replace(
        unary=unary, transitions=_scaled(potentials.transitions, w[:, None]) if transitions else potentials.transitions
    )


def with_costs(potentials: Potentials, labels: Tensor, cost: float | list[list[float]]) -> Potentials:
    """Add to each label's score its cost given the correct label; add 0 where the correct label is unknown."""
    size = potentials.unary.shape[2]
    if isinstance(cost, float):
        matrix = ops.cast(cost * (1 - np.eye(size)), potentials.unary.dtype)
    else:
        matrix = _label_array(potentials, cost, "cost")
    added = ops.take(matrix, ops.clip(labels, 0, size - 1), axis=0)
    counts = potentials.mask & (labels != UNKNOWN)
    return potentials._replace(unary=potentials.unary + ops.where(counts[..., None], added, ops.zeros_like(added)))


def hinge(potentials: Potentials, labels: Tensor, cost: float | list[list[float]]) -> Tensor:
    """The structured hinge loss, `(batch,)`: max_y (score(y) + cost(y)) - score(correct labels).

    If labels are unknown, the best sequence that agrees with the known ones counts as correct.
    """
    costly = with_costs(potentials, labels, cost)
    right = best_labels(restricted(potentials, labels))
    return sequence_score(costly, best_labels(costly)) - sequence_score(costly, right)


def weighted_log_likelihood(potentials: Potentials, labels: Tensor, weights: list[float]) -> Tensor:
    """The log-likelihood with each word weighted by its label, `(batch,)`.

    If z_i normalises the forward recursion at word i, log p(y) is the sum over i of

        unary_i[y_i] + transitions[y_{i-1}, y_i] - log z_i

    The first and the last term are weighted by w[y_i], the transition by w[y_{i-1}], the label it leaves.
    """
    w = _label_array(potentials, weights, "label_weights")
    score = sequence_score(with_label_weights(potentials, weights, transitions=True), labels)
    alpha = incoming(potentials) + potentials.unary
    total = ops.logsumexp(alpha, axis=2)
    # `incoming` subtracts the maximum of a word before it reads the next one.
    rest = total - ops.stop_gradient(amax(alpha, axis=2))
    before = take_words(rest, index_before(potentials.mask))
    log_z = total - ops.where(is_first(potentials.mask), ops.zeros_like(before), before)
    w_y = ops.take(w, ops.clip(labels, 0, w.shape[0] - 1), axis=0)
    return score - ops.sum(ops.where(potentials.mask, w_y * log_z, ops.zeros_like(log_z)), axis=1)


def _scaled(scores: Tensor, weights: Tensor) -> Tensor:
    """Multiply scores by weights; forbidden scores stay forbidden, even with weight 0."""
    return ops.where(is_forbidden(scores), scores, scores * weights)


def _label_array(potentials: Potentials, values: Any, name: str) -> Tensor:
    """Convert per-label values to a tensor; raise ValueError unless every axis has one entry per label."""
    found, size = np.asarray(values), potentials.unary.shape[2]
    if any(length != size for length in found.shape):
        raise ValueError(
            f"`{name}` must have one entry for each of the {size} labels, but has the shape {found.shape}."
        )
    return ops.convert_to_tensor(found, potentials.unary.dtype)
