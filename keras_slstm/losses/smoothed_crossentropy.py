"""Cross-entropy of integer labels with label smoothing."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.types import Tensor
from keras_slstm.validation import check_rate


@keras.saving.register_keras_serializable(package="keras_slstm")
class SmoothedCrossentropy(keras.losses.Loss):
    """The cross-entropy of integer labels with label smoothing, which Keras' own loss lacks.

        loss = -sum_k q_k log p_k,   q_k = (1 - s) [k = y] + s / K

    Args:
        label_smoothing: s, between 0 and 1. With 0 it is Keras' `SparseCategoricalCrossentropy`.
        reduction, name, dtype: As in `keras.losses.Loss`.

    Call arguments:
        y_true: The labels y, `(batch,)` or `(batch, 1)`, integers from 0 to K - 1.
        y_pred: Probabilities p, `(batch, K)`.
        sample_weight: A factor for each loss, `(batch,)`.

    Returns:
        A scalar, or without a reduction `(batch,)`.

    Raises:
        ValueError: If `label_smoothing` is not in [0, 1).

    Example:

    ```python
    model.compile("adam", loss=keras_slstm.SmoothedCrossentropy(0.1), metrics=["accuracy"])
    ```
    """

    def __init__(
        self,
        label_smoothing: float = 0.1,
        reduction: str | None = "sum_over_batch_size",
        name: str = "smoothed_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name, dtype=dtype)
        self.label_smoothing = check_rate("label_smoothing", label_smoothing)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        labels = ops.reshape(ops.cast(y_true, "int32"), (-1,))
        targets = ops.one_hot(labels, y_pred.shape[-1], dtype=y_pred.dtype)
        return keras.losses.categorical_crossentropy(targets, y_pred, label_smoothing=self.label_smoothing)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
