"""Hyperparameter searches over the package's models (extra: `tuner`)."""

from keras_slstm.tuning.confirmation import confirm
from keras_slstm.tuning.hypermodels import (
    ClassificationHyperModel,
    PairHyperModel,
    TaggingHyperModel,
    TaskHyperModel,
)
from keras_slstm.tuning.records import read_confirmation, read_search, read_trials
from keras_slstm.tuning.restricted_space import RestrictedHyperParameters
from keras_slstm.tuning.search import Search
from keras_slstm.tuning.spaces import (
    SPACES,
    classification_space,
    encoder_space,
    pair_space,
    register_space,
    tagging_space,
)
from keras_slstm.tuning.studies import STUDIES

__all__ = [
    "SPACES",
    "STUDIES",
    "ClassificationHyperModel",
    "PairHyperModel",
    "RestrictedHyperParameters",
    "Search",
    "TaggingHyperModel",
    "TaskHyperModel",
    "classification_space",
    "confirm",
    "encoder_space",
    "pair_space",
    "read_confirmation",
    "read_search",
    "read_trials",
    "register_space",
    "tagging_space",
]
