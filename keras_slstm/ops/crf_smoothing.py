"""Cross-entropy between smoothed labels and the marginals of a linear-chain CRF."""

from __future__ import annotations

from keras import ops

from keras_slstm.ops.crf import PENALTY, UNKNOWN, Potentials, is_forbidden, one_hot
from keras_slstm.ops.kernels.crf_log_space import incoming, outgoing
from keras_slstm.types import Tensor


def marginal_cross_entropy(potentials: Potentials, labels: Tensor, smoothing: float) -> Tensor:
    """-sum_y q_i(y) log p_i(y) for each word i, `(batch, time)`; 0 at masked positions and for unknown labels.

    p_i is the marginal. q_i spreads `smoothing` evenly over all labels that the word can have and gives the rest to the
    correct label. A correct label that the word cannot have counts as log p = -10,000.
    """
    logs = incoming(potentials) + potentials.unary + outgoing(potentials)
    logs = logs - ops.logsumexp(logs, axis=2, keepdims=True)
    impossible = is_forbidden(logs)
    nothing = ops.zeros_like(logs)
    right = ops.where(impossible, ops.full_like(logs, PENALTY), logs)
    right = ops.sum(ops.where(one_hot(labels, logs.shape[2]), right, nothing), axis=2)
    number = ops.sum(ops.cast(~impossible, logs.dtype), axis=2)
    every = ops.sum(ops.where(impossible, nothing, logs), axis=2) / ops.maximum(number, 1.0)
    counted = potentials.mask & (labels != UNKNOWN)
    return ops.where(counted, -((1 - smoothing) * right + smoothing * every), nothing[:, :, 0])
