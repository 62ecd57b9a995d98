"""The gates of the S-LSTM: sigmoids that a softmax normalises against each other."""

from __future__ import annotations

from collections.abc import Sequence

from keras import ops

from keras_slstm.types import Tensor


def gated_mean(pre_activations: Sequence[Tensor], values: Sequence[Tensor]) -> Tensor:
    """Average values, weighted by gates: `sum_q softmax_q(sigmoid(a_q)) * v_q`, for each unit.

    Args:
        pre_activations: a_1, ..., a_k, all of one shape.
        values: v_1, ..., v_k, of the same shape.

    Returns:
        A tensor of that shape.
    """
    # Sigmoids are at most 1, so exp needs no maximum subtracted.
    weights = [ops.exp(ops.sigmoid(a)) for a in pre_activations]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
