"""The accuracy of labels of words."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.types import Tensor


@keras.saving.register_keras_serializable(package="keras_slstm")
class TokenAccuracy(keras.metrics.Mean):
    """The fraction of words whose most probable label is right. Words of unknown label, -1, do not count.

    Args:
        name, dtype: As of any metric.

    Call arguments:
        y_true: Labels, `(batch, time)` integers, -1 at padding and where the label is unknown.
        y_pred: A score or probability of each label, `(batch, time, labels)`.
        sample_weight: `(batch,)` or `(batch, time)`, or None.

    Example:

    >>> metric = TokenAccuracy()
    >>> metric.update_state([[0, 1, -1]], [[[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]]])
    >>> float(metric.result())
    0.5
    """

    def __init__(self, name: str = "token_accuracy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        y_true = ops.cast(ops.convert_to_tensor(y_true), "int32")
        right = ops.cast(ops.cast(ops.argmax(y_pred, axis=-1), "int32") == y_true, "float32")
        weight = ops.cast(y_true >= 0, "float32")
        if sample_weight is not None:
            sample_weight = ops.cast(ops.convert_to_tensor(sample_weight), "float32")
            weight = weight * (sample_weight[:, None] if len(sample_weight.shape) == 1 else sample_weight)
        super().update_state(right, weight)
