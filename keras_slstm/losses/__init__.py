"""Losses. Every public loss is also available as ``keras_slstm.<Loss>``."""

from keras_slstm.losses.crf import CRFLoss

__all__ = ["CRFLoss"]
