"""Models: thin compositions of layers, from text to labels."""

from keras_slstm.models.bcn import BCN
from keras_slstm.models.delft import load_delft_tagger
from keras_slstm.models.encoders import ENCODERS, build_encoder, register_encoder
from keras_slstm.models.ensemble import Ensemble
from keras_slstm.models.esim import ESIM
from keras_slstm.models.gate_histograms import GateHistograms, read_gates
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.sentence_encoder import SentenceEncoder
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.models.seq2seq import Seq2Seq
from keras_slstm.models.sequence_tagger import SequenceTagger
from keras_slstm.models.span_probabilities import span_probabilities
from keras_slstm.models.translation_score import TranslationScore, score_translations
from keras_slstm.models.word_depths import DepthCounts, read_depths
from keras_slstm.saving import save_for_inference

__all__ = [
    "BCN",
    "ENCODERS",
    "ESIM",
    "DepthCounts",
    "Ensemble",
    "GateHistograms",
    "SentenceClassifier",
    "SentenceEncoder",
    "SentencePairClassifier",
    "Seq2Seq",
    "SequenceTagger",
    "TranslationScore",
    "build_encoder",
    "load_delft_tagger",
    "read_depths",
    "read_gates",
    "register_encoder",
    "save_for_inference",
    "score_translations",
    "span_probabilities",
]
