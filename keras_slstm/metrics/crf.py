"""How many words a CRF labels right."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.ops.crf import crf_decode
from keras_slstm.ops.crf_potentials import unpack

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFAccuracy(keras.metrics.Mean):
    """The fraction of real words whose label in the best sequence is right."""

    def __init__(self, name: str = "crf_accuracy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        y_true = ops.cast(ops.convert_to_tensor(y_true), "int32")
        right = ops.cast(crf_decode(y_pred) == y_true, "float32")
        weight = ops.cast(unpack(y_pred).mask & (y_true >= 0), "float32")
        if sample_weight is not None:
            sample_weight = ops.cast(ops.convert_to_tensor(sample_weight), "float32")
            weight = weight * (sample_weight[:, None] if len(sample_weight.shape) == 1 else sample_weight)
        super().update_state(ops.reshape(right, (-1,)), ops.reshape(weight, (-1,)))
