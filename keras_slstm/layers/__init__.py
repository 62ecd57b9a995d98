"""Keras layers. Every public layer is also available as ``keras_slstm.<Layer>``."""

from keras_slstm.layers.attention_decoder import AttentionDecoder
from keras_slstm.layers.attention_pooling import AttentionPooling
from keras_slstm.layers.cas_lstm import CASLSTM
from keras_slstm.layers.cas_lstm_cell import CASLSTMCell
from keras_slstm.layers.char_bilstm import CharBiLSTM
from keras_slstm.layers.char_cnn import CharCNN
from keras_slstm.layers.crf import CRF
from keras_slstm.layers.crf_decoder import CRFDecoder
from keras_slstm.layers.depth_adaptive_grn import DepthAdaptiveGRN
from keras_slstm.layers.min_gru import MinGRU, MinGRUCell
from keras_slstm.layers.normalized_lstm import NormalizedLSTM, NormalizedLSTMCell
from keras_slstm.layers.pooling import MaskedGlobalAveragePooling1D, MaskedGlobalMaxPooling1D
from keras_slstm.layers.second_order_crf import SecondOrderCRF
from keras_slstm.layers.semi_markov_crf import SemiMarkovCRF
from keras_slstm.layers.slstm import SLSTM
from keras_slstm.layers.subilstm import SuBiLSTM

__all__ = [
    "CASLSTM",
    "CRF",
    "SLSTM",
    "AttentionDecoder",
    "AttentionPooling",
    "CASLSTMCell",
    "CRFDecoder",
    "CharBiLSTM",
    "CharCNN",
    "DepthAdaptiveGRN",
    "MaskedGlobalAveragePooling1D",
    "MaskedGlobalMaxPooling1D",
    "MinGRU",
    "MinGRUCell",
    "NormalizedLSTM",
    "NormalizedLSTMCell",
    "SecondOrderCRF",
    "SemiMarkovCRF",
    "SuBiLSTM",
]
