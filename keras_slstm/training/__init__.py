"""Training runs that resume, optimizers, learning-rate schedules, checks of the loss and of trained models."""

from keras_slstm.training.check_loss import CheckLoss, NonFiniteLossError
from keras_slstm.training.diagnosis import diagnose_labels, diagnose_length, diagnose_tags
from keras_slstm.training.recurrent_adam import RecurrentAdam
from keras_slstm.training.recurrent_muon import RecurrentMuon
from keras_slstm.training.schedules import decay_on_plateau, rate_on_plateau
from keras_slstm.training.training_run import TrainingRun

__all__ = [
    "CheckLoss",
    "NonFiniteLossError",
    "RecurrentAdam",
    "RecurrentMuon",
    "TrainingRun",
    "decay_on_plateau",
    "diagnose_labels",
    "diagnose_length",
    "diagnose_tags",
    "rate_on_plateau",
]
