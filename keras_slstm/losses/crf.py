"""The loss of a CRF."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.ops.crf import crf_log_likelihood

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFLoss(keras.losses.Loss):
    """The negative log-likelihood of sequences of labels under a `CRF` layer."""

    def __init__(self, reduction: str | None = "sum_over_batch_size", name: str = "crf_loss", **kwargs: Any) -> None:
        super().__init__(reduction=reduction, name=name, **kwargs)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return -crf_log_likelihood(y_pred, y_true)
