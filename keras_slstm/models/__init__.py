"""Models: thin compositions of layers, with text on one side and labels on the other."""

from keras_slstm.models.encoders import ENCODERS, build_encoder
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.models.sequence_tagger import SequenceTagger

__all__ = ["ENCODERS", "SentenceClassifier", "SentencePairClassifier", "SequenceTagger", "build_encoder"]
