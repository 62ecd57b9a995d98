"""Stands in for `keras_crf`, the package of keras3-crf: a pytest plugin."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import keras
from keras import ops

from tests.conformance import linear_chain


def crf_log_likelihood(potentials, tags, lens, trans):
    return linear_chain.log_likelihood(potentials, tags, lens, trans)


def crf_sequence_score(potentials, tags, lens, trans):
    return linear_chain.sequence_score(potentials, tags, lens, trans)


def crf_decode(potentials, lens, trans):
    """Padding repeats the last label."""
    lens = ops.cast(lens, "int32")
    labels, score = linear_chain.decode(potentials, lens, trans)
    place = ops.minimum(ops.arange(ops.shape(labels)[1], dtype="int32"), lens[:, None] - 1)
    return ops.take_along_axis(labels, place, axis=1), score


def crf_constrained_decode(potentials, tag_bitmap, lens, trans):
    forbidden = ops.full_like(potentials, -float("inf"))
    return crf_decode(ops.where(tag_bitmap, potentials, forbidden), lens, trans)


def crf_marginals(potentials, lens, trans):
    return linear_chain.marginals(potentials, lens, trans)


class CRF(linear_chain.FourOutputs):
    def log_likelihood(self, potentials, tags, lens):
        return linear_chain.log_likelihood(potentials, tags, lens, ops.convert_to_tensor(self.crf.chain_kernel))


class CRFNLLHead(keras.layers.Layer):
    def call(self, inputs):
        unary, labels, lengths, transitions = inputs
        return self.of_sentences(unary, labels, lengths, transitions)

    def of_sentences(self, *given):
        return -linear_chain.log_likelihood(*given)


class CRFDiceHead(CRFNLLHead):
    def __init__(self, smooth: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.smooth = smooth

    def of_sentences(self, *given):
        return linear_chain.dice_loss(*given, smooth=self.smooth)


class _GivenLoss(keras.losses.Loss):
    """The loss is what the model returns."""

    def __init__(self, smooth: float = 1.0) -> None:
        super().__init__(name="given_loss")

    def call(self, y_true, y_pred):
        return y_pred


def _reduced(losses, reduction):
    return ops.mean(losses) if reduction == "mean" else losses


def nll_loss(potentials, lengths, transitions, y_true, reduction="mean"):
    return _reduced(-linear_chain.log_likelihood(potentials, y_true, lengths, transitions), reduction)


def dice_loss(potentials, lengths, transitions, y_true, reduction="mean"):
    return _reduced(linear_chain.dice_loss(potentials, y_true, lengths, transitions), reduction)


def joint_dice_nll_loss(potentials, lengths, transitions, y_true, alpha, reduction="mean"):
    one, other = (loss(potentials, lengths, transitions, y_true, reduction) for loss in (nll_loss, dice_loss))
    return alpha * one + (1 - alpha) * other


def _module(name: str, **names: Any) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    module.__path__ = []  # type: ignore[attr-defined]
    for key, value in names.items():
        setattr(module, key, value)
    return module


_layers = _module("keras_crf.layers", CRF=CRF)
_ops = _module("keras_crf.crf_ops", **{name: value for name, value in globals().items() if name.startswith("crf_")})
_losses = _module(
    "keras_crf.losses",
    CRFNLLHead=CRFNLLHead,
    CRFDiceHead=CRFDiceHead,
    CRFNLLLoss=_GivenLoss,
    CRFDiceLoss=_GivenLoss,
    nll_loss=nll_loss,
    dice_loss=dice_loss,
    joint_dice_nll_loss=joint_dice_nll_loss,
)
_module("keras_crf", CRF=CRF, layers=_layers, ops=_ops, losses=_losses)
