"""Adam with a larger learning rate for the recurrent kernels of the S-LSTM and the depth-adaptive GRN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import keras


@keras.saving.register_keras_serializable(package="keras_slstm")
class RecurrentAdam(keras.optimizers.Adam):  # type: ignore[misc]
    """Adam with a larger learning rate for the recurrent kernels of `SLSTM` and `DepthAdaptiveGRN`.

    The states of these layers are small, because a softmax over many gates makes them. Adam changes each weight by
    about the learning rate, however large its inputs are, so that with a rate that suits the other weights, the
    layers learn slowly how a word depends on its context. All other weights, and all weights of other layers, are
    updated as by `keras.optimizers.Adam`.

    Args:
        learning_rate: A number or a schedule, for all other weights.
        recurrent_multiplier: The learning rate of the recurrent kernels, as a multiple of `learning_rate`. A positive
            number.
        **options: Arguments of `keras.optimizers.Adam`, for example `global_clipnorm`.

    Raises:
        ValueError: If `recurrent_multiplier` is not a positive number.

    Example:

    ```python
    model.compile(keras_slstm.training.RecurrentAdam(2e-3), loss="sparse_categorical_crossentropy")
    ```
    """

    def __init__(self, learning_rate: Any = 0.001, recurrent_multiplier: float = 4.0, **options: Any):
        super().__init__(learning_rate, **options)
        if not 0 < recurrent_multiplier < math.inf:
            raise ValueError(
                f"`recurrent_multiplier` must be a positive number, but got {recurrent_multiplier}. "
                "With 1, all weights have the same learning rate."
            )
        self.recurrent_multiplier = recurrent_multiplier
        self._multipliers: list[float] = []

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Create the moments of the variables, and note which of these are recurrent kernels."""
        super().build(variables)
        self._multipliers = [
            self.recurrent_multiplier if hasattr(variable, "state_units") else 1.0 for variable in variables
        ]

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Update one variable. `variable` is Keras' or, on TensorFlow, TensorFlow's."""
        multiplier = self._multipliers[self._get_variable_index(variable)]
        super().update_step(gradient, variable, learning_rate if multiplier == 1 else learning_rate * multiplier)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "recurrent_multiplier": self.recurrent_multiplier}
