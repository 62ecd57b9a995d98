"""Labels from the output of a CRF, as a layer."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.ops.crf import crf_decode

Tensor = Any


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFDecoder(keras.layers.Layer):
    """The best sequence of labels (Viterbi) from the output of a `CRF` layer."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)

    def call(self, inputs: Tensor) -> Tensor:
        return crf_decode(inputs)

    def compute_output_spec(self, inputs: Tensor) -> Any:
        time = inputs.shape[1]
        if len(inputs.shape) == 3 and time is not None:
            time -= inputs.shape[2] - 1
        return keras.KerasTensor((inputs.shape[0], time), dtype="int32")
