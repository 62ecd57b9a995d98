"""The optimizer that the commands and the searches name."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.training.recurrent_adam import RecurrentAdam
from keras_slstm.training.recurrent_muon import RecurrentMuon

OPTIMIZERS = ("adam", "muon")


def make_optimizer(
    name: str, learning_rate: Any, recurrent_multiplier: float = 1.0, **options: Any
) -> keras.optimizers.Optimizer:
    """Make the optimizer of this name.

    Args:
        name: `"adam"`, or `"muon"` for `RecurrentMuon`.
        learning_rate: A number or a schedule.
        recurrent_multiplier: The learning rate of marked recurrent kernels, as a multiple of `learning_rate`.
        **options: Arguments that all optimizers have, for example `global_clipnorm`.
    """
    if name == "muon":
        return RecurrentMuon(learning_rate, recurrent_multiplier, **options)
    if recurrent_multiplier == 1:
        return keras.optimizers.Adam(learning_rate, **options)  # faster on PyTorch
    return RecurrentAdam(learning_rate, recurrent_multiplier, **options)
