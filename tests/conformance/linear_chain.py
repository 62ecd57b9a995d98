"""The shared interface of tensorflow-addons, tf2crf and keras3-crf over `keras_slstm`: lengths instead of masks."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

import keras_slstm
from keras_slstm.ops.crf import FORBIDDEN
from keras_slstm.ops.crf_functions import unpack_potentials
from keras_slstm.ops.crf_potentials import pack
from keras_slstm.types import Tensor


def potentials(unary: Tensor, lengths: Tensor, transitions: Tensor) -> Tensor:
    """Return the output of a CRF layer for right-padded sentences; scores of -inf are forbidden."""
    unary, transitions = ops.cast(unary, "float32"), ops.cast(transitions, "float32")
    mask = ops.arange(ops.shape(unary)[1], dtype="int32") < ops.cast(lengths, "int32")[:, None]
    unary = ops.where(mask[..., None], ops.maximum(unary, FORBIDDEN), ops.zeros_like(unary))
    return pack(unary, transitions, mask)


def sequence_score(unary: Tensor, labels: Tensor, lengths: Tensor, transitions: Tensor) -> Tensor:
    return keras_slstm.crf_sequence_score(potentials(unary, lengths, transitions), labels)


def log_norm(unary: Tensor, lengths: Tensor, transitions: Tensor) -> Tensor:
    return keras_slstm.crf_log_partition(potentials(unary, lengths, transitions))


def log_likelihood(unary: Tensor, labels: Tensor, lengths: Tensor, transitions: Tensor) -> Tensor:
    return keras_slstm.crf_log_likelihood(potentials(unary, lengths, transitions), labels)


def decode(unary: Tensor, lengths: Tensor, transitions: Tensor) -> tuple[Tensor, Tensor]:
    """The best labels, and their score."""
    packed = potentials(unary, lengths, transitions)
    labels = keras_slstm.crf_decode(packed)
    return labels, keras_slstm.crf_sequence_score(packed, labels)


def marginals(unary: Tensor, lengths: Tensor, transitions: Tensor) -> Tensor:
    return keras_slstm.crf_marginals(potentials(unary, lengths, transitions))


def dice_loss(unary: Tensor, labels: Tensor, lengths: Tensor, transitions: Tensor, smooth: float = 1.0) -> Tensor:
    """Return 1 - the Dice coefficient of the marginals and the labels, per sentence."""
    found = marginals(unary, lengths, transitions)
    mask = ops.arange(ops.shape(found)[1], dtype="int32") < ops.cast(lengths, "int32")[:, None]
    right = ops.one_hot(ops.cast(labels, "int32"), found.shape[-1], dtype=found.dtype)
    right = right * ops.cast(mask, found.dtype)[..., None]
    common, all_of_both = ops.sum(right * found, axis=(1, 2)), ops.sum(right + found, axis=(1, 2))
    return 1 - (2 * common + smooth) / (all_of_both + smooth)


@keras.saving.register_keras_serializable(package="conformance")
class FourOutputs(keras.layers.Layer):
    """A CRF that returns labels, scores of labels, lengths and transitions."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        names = ("use_kernel", "use_boundary", "chain_initializer", "boundary_initializer")
        own = {name: kwargs.pop(name) for name in names if name in kwargs}
        super().__init__(**kwargs)
        self.units, self.own, self.supports_masking = units, own, True
        self.crf = keras_slstm.CRF(units, dtype=self.dtype_policy, **own)

    def build(self, input_shape: Any) -> None:
        self.crf.build(input_shape)

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> tuple[Tensor, ...]:
        mask = None if mask is None else ops.cast(mask, "bool")
        found = self.crf(inputs, mask=mask)
        unary, transitions, words = unpack_potentials(found)
        lengths = ops.sum(ops.cast(words, "int32"), axis=1)
        return keras_slstm.crf_decode(found), unary, lengths, transitions

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, **self.own}


class CRFModel(keras.Model):
    """A model followed by a CRF with a fixed loss, like the wrappers of tensorflow-addons and keras-crf."""

    def __init__(self, model: keras.Model, units: int) -> None:
        super().__init__()
        self.model, self.crf = model, keras_slstm.CRF(units)

    def call(self, inputs: Tensor) -> Tensor:
        return self.crf(self.model(inputs))

    def compile(self, optimizer: Any, metrics: Any = None) -> None:
        super().compile(optimizer, keras_slstm.CRFLoss(), metrics and [keras_slstm.CRFAccuracy()])


class ModelWithLoss(keras.Model):
    """A loss over a model with four outputs, as in tf2crf."""

    def __init__(self, base_model: keras.Model) -> None:
        super().__init__()
        self.base_model = base_model

    def call(self, inputs: Tensor) -> Any:
        return self.base_model(inputs)

    def compute_loss(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None, training: bool = True) -> Tensor:
        _, unary, lengths, transitions = y_pred
        return ops.mean(self.of_sentences(unary, y, lengths, transitions))

    def of_sentences(self, *given: Tensor) -> Tensor:
        return -log_likelihood(*given)


class ModelWithDiceLoss(ModelWithLoss):
    def of_sentences(self, *given: Tensor) -> Tensor:
        return dice_loss(*given)
