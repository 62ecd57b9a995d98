"""How many words a CRF labels right."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.ops.crf import UNKNOWN, check_labels, crf_decode
from keras_slstm.ops.crf_potentials import unpack
from keras_slstm.types import Tensor


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFAccuracy(keras.metrics.Mean):
    """The fraction of real words whose label in the best sequence (Viterbi) is right.

    Words whose label is unknown (-1) and masked positions do not count. The fraction is that of all words since the
    last reset, however they were divided into batches.

    Args:
        name: Name of the metric.
        dtype: Of the result.

    Call arguments:
        y_true: The labels, `(batch, time)`, numbers from 0 to K - 1, or -1.
        y_pred: The output of a `CRF` layer.
        sample_weight: `(batch,)`, `(batch, 1)` or `(batch, time)`: how much each sentence's words, or each word, count.

    Raises:
        ValueError: If the labels do not fit the potentials.

    Example:

    ```python
    model.compile("adam", loss=keras_slstm.CRFLoss(), metrics=[keras_slstm.CRFAccuracy()])
    ```
    """

    def __init__(self, name: str = "crf_accuracy", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        parts = unpack(y_pred)
        labels = check_labels(parts, y_true)
        right = ops.cast(crf_decode(y_pred) == labels, self.dtype)
        weights = ops.cast(parts.mask & (labels != UNKNOWN), self.dtype)
        if sample_weight is not None:
            given = ops.cast(ops.convert_to_tensor(sample_weight), self.dtype)
            weights = weights * (given[:, None] if len(given.shape) == 1 else given)
        # As one row: Keras averages within rows first, so that words of short sentences would count more.
        super().update_state(ops.reshape(right, (-1,)), ops.reshape(weights, (-1,)))
