"""Replaces Keras' LSTM by a recurrent layer of this package: a pytest plugin."""

from __future__ import annotations

from typing import Any

import keras
from keras.src import layers

import keras_slstm


@keras.saving.register_keras_serializable(package="conformance")
class LSTM(keras_slstm.CASLSTM):
    """One layer of a cell-aware stack is a plain LSTM."""

    def __init__(
        self, units: int, implementation: int = 2, unroll: bool = False, use_bias: bool = True, **kwargs: Any
    ) -> None:
        if not use_bias:
            kwargs.update(bias_initializer="zeros", unit_forget_bias=False)
        super().__init__(units, **{"num_layers": 1, **kwargs})


layers.LSTM = LSTM
