"""Losses. Every public loss is also available as ``keras_slstm.<Loss>``."""

from keras_slstm.losses.crf import CRFLoss
from keras_slstm.losses.crf_margin import CRFMarginLoss
from keras_slstm.losses.crf_marginal import CRFMarginalLoss
from keras_slstm.losses.second_order_crf import SecondOrderCRFLoss
from keras_slstm.losses.semi_markov_crf import SemiMarkovCRFLoss
from keras_slstm.losses.smoothed_crossentropy import SmoothedCrossentropy

__all__ = [
    "CRFLoss",
    "CRFMarginLoss",
    "CRFMarginalLoss",
    "SecondOrderCRFLoss",
    "SemiMarkovCRFLoss",
    "SmoothedCrossentropy",
]
