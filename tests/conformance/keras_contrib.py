"""Stands in for the modules of keras-contrib that its test of CRFs imports: a pytest plugin."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import keras
from keras import ops

import keras_slstm
from keras_slstm.types import Tensor


class CRF(keras.layers.Layer):
    """Returns potentials in training, and one-hot labels or marginals in testing, like keras-contrib."""

    def __init__(
        self,
        units: int,
        learn_mode: str = "join",
        test_mode: str | None = None,
        sparse_target: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.learn_mode, self.sparse_target = units, learn_mode, sparse_target
        self.test_mode = test_mode or ("viterbi" if learn_mode == "join" else "marginal")
        self.supports_masking = True
        self.crf = keras_slstm.CRF(units)

    def build(self, input_shape: Any) -> None:
        self.crf.build(input_shape)

    def call(self, inputs: Tensor, mask: Tensor | None = None, training: bool = False) -> Tensor:
        potentials = self.crf(inputs, mask=mask)
        marginal = (self.learn_mode if training else self.test_mode) == "marginal"
        if training and not marginal:
            return potentials
        if not marginal:
            return ops.one_hot(keras_slstm.crf_decode(potentials), self.units, dtype="float32")
        found = keras_slstm.crf_marginals(potentials)
        return found if mask is None else ops.where(mask[..., None], found, ops.full_like(found, 1 / self.units))

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        return mask

    def get_config(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("units", "learn_mode", "test_mode", "sparse_target")}
        return {**super().get_config(), **own}


def _labels(y_true: Tensor) -> Tensor:
    return ops.cast(y_true[..., 0] if y_true.shape[-1] == 1 else ops.argmax(y_true, axis=-1), "int32")


def crf_loss(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Return the likelihood of potentials, or the cross-entropy of marginals, as a scalar that no mask changes."""
    # Potentials have one row per label after those of the words.
    if y_pred.shape[1] != y_true.shape[1]:
        return ops.mean(keras_slstm.CRFLoss(None)(_labels(y_true), y_pred))
    return ops.mean(keras.losses.sparse_categorical_crossentropy(_labels(y_true), y_pred))


def _accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    if y_pred.shape[1] != y_true.shape[1]:
        found = keras_slstm.crf_decode(y_pred)
    else:
        found = ops.cast(ops.argmax(y_pred, axis=-1), "int32")
    return ops.cast(found == _labels(y_true), "float32")


def crf_accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    return _accuracy(y_true, y_pred)


def crf_viterbi_accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    return _accuracy(y_true, y_pred)


def crf_marginal_accuracy(y_true: Tensor, y_pred: Tensor) -> Tensor:
    return _accuracy(y_true, y_pred)


def _module(name: str, **names: Any) -> None:
    module = sys.modules[name] = ModuleType(name)
    module.__path__ = []  # type: ignore[attr-defined]
    for key, value in names.items():
        setattr(module, key, value)


_module("keras_contrib")
_module("keras_contrib.layers", CRF=CRF)
_module("keras_contrib.losses", crf_loss=crf_loss)
_module(
    "keras_contrib.metrics",
    crf_accuracy=crf_accuracy,
    crf_marginal_accuracy=crf_marginal_accuracy,
    crf_viterbi_accuracy=crf_viterbi_accuracy,
)
_module("keras_contrib.utils")
_module("keras_contrib.utils.test_utils", is_tf_keras=False)
