"""The callback that saves and restores the state of a training run."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.distribute import is_chief
from keras_slstm.distribute.trainer import scope_of
from keras_slstm.distribute.variables import build
from keras_slstm.files import complete_file, write_json
from keras_slstm.training.progress import Progress, best_epoch
from keras_slstm.training.run_folder import RunFolder
from keras_slstm.training.state import (
    metric_values,
    random_state,
    set_metric_values,
    set_random_state,
    weights_in_memory,
)

PERFECT = 1.0  # maximum of accuracy, F1 and correlation


class Checkpoints(keras.callbacks.Callback):
    """Saves the state of a training run, and stops it when patience runs out.

    Args:
        files: The folder to write to.
        progress: The progress of the run, kept up to date.
        monitor, mode, patience, save_every: See `TrainingRun.fit`.
    """

    def __init__(
        self,
        files: RunFolder,
        progress: Progress,
        monitor: str,
        mode: str,
        patience: int | None,
        save_every: int | None,
    ):
        super().__init__()
        self.files = files
        self.progress = progress
        self.monitor = monitor
        self.mode = mode
        self.patience = patience
        self.save_every = save_every
        self.first_step = progress.step
        self.resumes = progress.epochs > 0 or progress.step > 0
        self.stopped = False

    def restore(self, model: keras.Model, data: Any) -> None:
        """Restore the last saved state, if there is one."""
        if not self.resumes:
            return
        # The optimizer's state is only loaded if its variables exist.
        with scope_of(model):
            model.optimizer.build(model.trainable_variables)
            if self.progress.step:  # likewise for the state of the metrics
                build(model, data[0][0])
        self.load_weights(model, self.progress.epochs, self.progress.step)

    def load_weights(self, model: keras.Model, epoch: int, step: int = 0) -> None:
        """Load the weights saved after an epoch, or within the next one."""
        path = self.files.weights(epoch, step)
        try:
            model.load_weights(path)
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(
                f"The interrupted run cannot continue, because {path} is missing, damaged, or of another model: choose "
                f"another folder, or overwrite it (overwrite=True). {error}"
            ) from error

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        # Not earlier: on some backends, Keras draws random numbers while it builds the training step.
        if self.resumes and not self.first_step:
            self._resume()

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        # Not at the start of the epoch: PyTorch draws a random number when it starts to read the data.
        if self.resumes:
            self._resume()

    def _resume(self) -> None:
        self._restore_random_state(self.model)
        self.resumes = False

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self.save_every is None:
            return
        if batch + 1 == (self.params or {}).get("steps"):  # `on_epoch_end` saves the state
            return
        step = self.first_step + batch + 1
        if step // self.save_every > self.progress.step // self.save_every:
            self._keep(self.model, step)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        if self.monitor not in logs:
            raise ValueError(f"`monitor` must be one of the logs, {', '.join(logs)}, but is {self.monitor!r}.")
        progress = self.progress
        for name, value in logs.items():
            progress.history.setdefault(name, []).append(float(value))
        progress.epochs = epoch + 1
        losses = progress.history.get("val_loss") or progress.history.get("loss", [])
        progress.best_epoch = best_epoch(progress.history[self.monitor], self.mode, losses)
        self._keep(self.model)
        self.first_step = 0
        self.stopped = self.model.stop_training
        if self._patience_exhausted():
            self.model.stop_training = True

    def has_ended(self, epochs: int) -> bool:
        """Whether training is complete."""
        return self.stopped or self._patience_exhausted() or self.progress.epochs >= epochs

    def _patience_exhausted(self) -> bool:
        if self.patience is None:
            return False
        progress = self.progress
        last = progress.best_epoch
        scores = progress.history.get(self.monitor, [])
        if self.mode == "max" and PERFECT in scores and scores[last - 1] == PERFECT:
            # The loss of a task that has been learned keeps falling forever.
            last = scores.index(PERFECT) + 1
        return progress.epochs - last >= self.patience

    def _keep(self, model: keras.Model, step: int = 0) -> None:
        """Save the state after an epoch, or within one. Replacing `progress.json` makes it valid."""
        self.progress.step = step
        self.progress.random_state = random_state(model)
        self.progress.metrics = metric_values(model) if step else []
        weights = weights_in_memory(model)
        if is_chief():
            latest = self.files.weights(self.progress.epochs, step)
            with complete_file(latest) as path:
                path.write_bytes(weights)
            write_json(self.files.progress, vars(self.progress))
            self.files.drop_weights(needed=(latest, self.files.weights(self.progress.best_epoch)))

    def _restore_random_state(self, model: keras.Model) -> None:
        try:
            set_random_state(model, self.progress.random_state)
            if self.progress.step:
                set_metric_values(model, self.progress.metrics)
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"The interrupted run cannot continue, because {self.files.progress} does not match this model: choose "
                f"another folder, or overwrite it (overwrite=True). {error}"
            ) from error
