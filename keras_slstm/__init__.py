"""Sentence-state LSTM and related sentence encoders as Keras layers."""

from keras_slstm import data, layers, models, ops
from keras_slstm.layers import (
    CASLSTM,
    SLSTM,
    AttentionPooling,
    CASLSTMCell,
    MaskedGlobalAveragePooling1D,
    MaskedGlobalMaxPooling1D,
    NormalizedLSTM,
    NormalizedLSTMCell,
)
from keras_slstm.models import SentenceClassifier
from keras_slstm.version import __version__

__all__ = [
    "CASLSTM",
    "SLSTM",
    "AttentionPooling",
    "CASLSTMCell",
    "MaskedGlobalAveragePooling1D",
    "MaskedGlobalMaxPooling1D",
    "NormalizedLSTM",
    "NormalizedLSTMCell",
    "SentenceClassifier",
    "__version__",
    "data",
    "layers",
    "models",
    "ops",
]
