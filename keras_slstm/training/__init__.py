"""Training runs that resume, learning-rate schedules, a check of the loss, and files of results."""

from keras_slstm.training.check_loss import CheckLoss, NonFiniteLossError
from keras_slstm.training.schedules import decay_on_plateau, rate_on_plateau
from keras_slstm.training.training_run import TrainingRun

__all__ = ["CheckLoss", "NonFiniteLossError", "TrainingRun", "decay_on_plateau", "rate_on_plateau"]
