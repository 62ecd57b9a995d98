"""Resumable training runs, learning-rate schedules, checks of the loss, diagnosis of trained models, result files."""

from keras_slstm.training.check_loss import CheckLoss, NonFiniteLossError
from keras_slstm.training.diagnosis import diagnose_labels, diagnose_length, diagnose_tags
from keras_slstm.training.schedules import decay_on_plateau, rate_on_plateau
from keras_slstm.training.training_run import TrainingRun

__all__ = [
    "CheckLoss",
    "NonFiniteLossError",
    "TrainingRun",
    "decay_on_plateau",
    "diagnose_labels",
    "diagnose_length",
    "diagnose_tags",
    "rate_on_plateau",
]
