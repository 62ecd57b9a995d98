"""Sentence-state LSTM and related sentence encoders as Keras layers."""

from keras_slstm import data, distribute, layers, losses, metrics, models, ops
from keras_slstm.layers import (
    CASLSTM,
    CRF,
    SLSTM,
    AttentionDecoder,
    AttentionPooling,
    CASLSTMCell,
    CharBiLSTM,
    CharCNN,
    CRFDecoder,
    MaskedGlobalAveragePooling1D,
    MaskedGlobalMaxPooling1D,
    NormalizedLSTM,
    NormalizedLSTMCell,
)
from keras_slstm.losses import CRFLoss
from keras_slstm.metrics import CRFAccuracy, ScorePearson, TokenAccuracy
from keras_slstm.models import SentenceClassifier, SentencePairClassifier, Seq2Seq, SequenceTagger
from keras_slstm.ops.crf import (
    crf_decode,
    crf_entropy,
    crf_k_best,
    crf_log_likelihood,
    crf_log_partition,
    crf_marginals,
    crf_sequence_score,
)
from keras_slstm.version import __version__

__all__ = [
    "CASLSTM",
    "CRF",
    "SLSTM",
    "AttentionDecoder",
    "AttentionPooling",
    "CASLSTMCell",
    "CRFAccuracy",
    "CRFDecoder",
    "CRFLoss",
    "CharBiLSTM",
    "CharCNN",
    "MaskedGlobalAveragePooling1D",
    "MaskedGlobalMaxPooling1D",
    "NormalizedLSTM",
    "NormalizedLSTMCell",
    "ScorePearson",
    "SentenceClassifier",
    "SentencePairClassifier",
    "Seq2Seq",
    "SequenceTagger",
    "TokenAccuracy",
    "__version__",
    "crf_decode",
    "crf_entropy",
    "crf_k_best",
    "crf_log_likelihood",
    "crf_log_partition",
    "crf_marginals",
    "crf_sequence_score",
    "data",
    "distribute",
    "layers",
    "losses",
    "metrics",
    "models",
    "ops",
]
