"""A callback that stops training, or undoes the step, if the loss is not finite."""

from __future__ import annotations

import math
import warnings
from typing import Any

import keras
import numpy as np


class NonFiniteLossError(ArithmeticError):
    """The loss is infinite or not a number."""


class CheckLoss(keras.callbacks.Callback):
    """Checks after every step that the loss is a finite number.

    On JAX and on GPUs, the next step has to wait for this check.

    Args:
        skip: False: raise `NonFiniteLossError`, which names the epoch and the step. True: undo the step, warn, and
            continue with the next batch, also if the loss is finite but a weight no longer is; this copies the
            variables of the model and the optimizer before each step, which costs time and memory.

    Example:

    ```python
    model.fit(words, labels, epochs=5, callbacks=[CheckLoss()])
    ```
    """

    def __init__(self, skip: bool = False):
        super().__init__()
        self.skip = skip
        self.skipped = 0
        self._epoch = 0
        self._copy: list[np.ndarray] | None = None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch
        self._copy = None  # metrics are reset

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.skip and self._copy is None:
            self._copy = [keras.ops.convert_to_numpy(variable) for variable in self._variables()]

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        loss = float((logs or {}).get("loss", 0.0))
        if math.isfinite(loss) and not (self.skip and self._has_broken_weights()):
            self._copy = None
            return
        what = "A weight is not finite" if math.isfinite(loss) else f"The loss is {loss}"
        where = f"{what} after step {batch + 1} of epoch {self._epoch + 1}"
        if not self.skip:
            raise NonFiniteLossError(
                f"{where}. Try a lower learning rate, gradient clipping or a wider dtype, and inspect that batch. "
                "`CheckLoss(skip=True)` skips such steps."
            )
        assert self._copy is not None
        for variable, value in zip(self._variables(), self._copy, strict=True):
            variable.assign(value)
        self.skipped += 1
        warnings.warn(f"{where}: the step is skipped.", RuntimeWarning, stacklevel=2)

    def _has_broken_weights(self) -> bool:
        """Whether the step has made a weight infinite or not a number, although its loss is finite."""
        weights = map(keras.ops.convert_to_numpy, self.model.trainable_variables)
        return not all(np.isfinite(weight).all() for weight in weights)

    def _variables(self) -> list[Any]:
        """All variables that a step changes, except the random state: the next step must draw other numbers."""
        model = self.model
        variables = [v for v in model.variables if v.name != "seed_generator_state"]
        known = {id(variable) for variable in variables}
        others = [*model.optimizer.variables, *model.metrics_variables]
        return [*variables, *(variable for variable in others if id(variable) not in known)]
