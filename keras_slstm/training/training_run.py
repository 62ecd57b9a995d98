"""Trainings that can be interrupted: a folder with all that is needed to go on."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import keras

from keras_slstm import distribute
from keras_slstm.distribute.agreement import gather, wait_for_all
from keras_slstm.distribute.fitting import scope_of
from keras_slstm.distribute.variables import build
from keras_slstm.files import complete_file, write_json
from keras_slstm.text.batches import Batches
from keras_slstm.training.non_finite_loss import CheckLoss
from keras_slstm.training.state import (
    RestOfEpoch,
    metric_values,
    random_state,
    set_metric_values,
    set_random_state,
    unfinished,
)

_MODEL = "model.keras"
_SETTINGS = "settings.json"
_PROGRESS = "progress.json"


class TrainingRun:
    """A folder that holds one training: its settings, how far it came, and in the end its model.

    After each epoch, and every so many steps if asked for, the weights, the optimizer's state, the state of the random
    generators and of the metrics, the place in the data, the history and the best epoch so far are written;
    `progress.json`, replaced as a whole, says which weights files count. A training that was interrupted, at whatever
    moment, goes on from there, and ends with the weights that it would have had without the interruption. A folder
    that holds a finished model is left alone.

    Where several processes train together (`keras_slstm.distribute`), all of them make and call this alike, with a
    folder that all of them see, where the first one writes.

    Args:
        folder: The folder. It is created.
        settings: What determines the training, as JSON values. A training resumes with equal settings only.
        overwrite: Whether to delete what an earlier run left in the folder.

    Raises:
        FileExistsError: If the folder holds a finished run.
        ValueError: If it holds an interrupted run with other settings, or with a missing or damaged file.

    Example:

    ```python
    run = TrainingRun("runs/demo", settings={"units": 100, "seed": 0})
    history = run.fit(model, train, validation_data=dev, epochs=20, patience=3)
    run.save(model)  # runs/demo/model.keras, with the weights of the best epoch
    ```
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        settings: dict[str, Any] | None = None,
        overwrite: bool = False,
    ):
        self.folder = Path(folder)
        self.progress = _Progress()
        settings = json.loads(json.dumps(settings or {}))  # as they will be read
        if overwrite and distribute.is_chief():
            self._clear()
        wait_for_all()
        if self.model_path.exists():
            raise FileExistsError(
                f"{self.folder} holds a finished run: choose another folder, or overwrite it (overwrite=True)."
            )
        if (self.folder / _PROGRESS).exists():
            self._check_settings(settings)
            self.progress = _Progress(**self._read(_PROGRESS, {"epochs", "best_epoch", "history", "random_state"}))
        elif distribute.is_chief():
            self._clear()
            write_json(self.folder / _SETTINGS, settings)

    @property
    def model_path(self) -> Path:
        """Where `save` puts the model."""
        return self.folder / _MODEL

    @property
    def epochs_done(self) -> int:
        """Number of finished epochs; more than 0 at the start if the training was interrupted."""
        return self.progress.epochs

    @property
    def steps_done(self) -> int:
        """Number of steps of the epoch after these; more than 0 at the start if the training was interrupted in it."""
        return self.progress.step

    @property
    def best_epoch(self) -> int:
        """The best epoch so far, counted from 1; 0 before the first."""
        return self.progress.best_epoch

    @property
    def history(self) -> dict[str, list[float]]:
        """A list with one value for each finished epoch, for each entry of Keras' logs."""
        return self.progress.history

    def fit(
        self,
        model: keras.Model,
        *data: Any,
        epochs: int,
        monitor: str = "val_accuracy",
        mode: str = "max",
        patience: int | None = None,
        save_every: int | None = None,
        skip_non_finite: bool = False,
        callbacks: Iterable[keras.callbacks.Callback] = (),
        **arguments: Any,
    ) -> dict[str, list[float]]:
        """Train, from where an interrupted training stood; the model ends with the weights of the best epoch.

        Args:
            model: A compiled model that has its weights.
            *data: What `model.fit` takes as data. For `save_every`, batches whose order depends on nothing but the
                epoch: what the package's models make (`model.batches`), or another `keras.utils.PyDataset` with
                `shuffle=False`.
            epochs: Number of epochs, finished ones included.
            monitor: The entry of Keras' logs that says which epoch is best; of equal ones, the first.
            mode: `"max"` or `"min"`.
            patience: Stop after so many epochs without a better one. None: never.
            save_every: Write the state after so many steps, too. None: after epochs only.
            skip_non_finite: What to do when the loss is infinite or not a number. False: stop, and say at which step.
                True: leave the step out; see `CheckLoss`.
            callbacks: Further callbacks. They are not resumed.
            **arguments: Further arguments of `model.fit`.

        Returns:
            A list with one value per epoch for each entry of Keras' logs, earlier epochs included.

        Raises:
            NonFiniteLossError: See `skip_non_finite`. The folder holds the last state before that.
            keras_slstm.distribute.WorkerLost: If another process of the training has died.
            ValueError: If an argument does not fit, or processes see different folders.
        """
        if mode not in ("max", "min"):
            raise ValueError(f'`mode` must be "max" or "min", but got {mode!r}.')
        if save_every is not None or self.progress.step:
            _check_order(save_every, model, data, arguments)
        self._check_agreement()
        self._restore(model, data)
        keeper = _Keeper(self, monitor, mode, patience, save_every)
        options = {**arguments, "callbacks": [*callbacks, CheckLoss(skip_non_finite), keeper]}
        if self.progress.step and not keeper.has_ended(epochs):
            epoch = self.progress.epochs
            rest = RestOfEpoch(data[0], epoch, self.progress.step)
            one = {**options, "initial_epoch": epoch, "epochs": epoch + 1, "shuffle": False}
            with unfinished(model.optimizer) if epoch + 1 < epochs else contextlib.nullcontext():
                distribute.fit(model, rest, **one)
        if not keeper.has_ended(epochs):
            distribute.fit(model, *data, epochs=epochs, initial_epoch=self.progress.epochs, **options)
        wait_for_all()
        if self.progress.best_epoch:
            model.load_weights(self._weights_path(self.progress.best_epoch))
        return self.progress.history

    def save(self, model: keras.Model) -> Path:
        """Write the finished model, and drop what only served to resume."""
        with _written_by_all(self.model_path) as path:
            model.save(path)
        if distribute.is_chief():
            self._drop_weights(needed=())
        wait_for_all()
        return self.model_path

    def _check_agreement(self) -> None:
        """All processes must go on from the same place."""
        places = gather([self.progress.epochs, self.progress.step])
        if any(place != places[0] for place in places):
            raise ValueError(
                f"Processes find different states in {self.folder}: it must be a folder that all of them see. "
                f"Finished epochs and steps, by process: {places}."
            )

    def _restore(self, model: keras.Model, data: Any) -> None:
        if not self.progress.epochs and not self.progress.step:
            return
        # The optimizer's state is loaded only where it has its variables.
        with scope_of(model):
            model.optimizer.build(model.trainable_variables)
            if self.progress.step:  # and so are the metrics'
                build(model, data[0][0])
        model.load_weights(self._weights_path(self.progress.epochs, self.progress.step))

    def _keep(self, model: keras.Model, step: int = 0) -> None:
        """Write the state after an epoch, or some steps. The training has it once `progress.json` is replaced."""
        self.progress.step = step
        self.progress.random_state = random_state(model)
        self.progress.metrics = metric_values(model) if step else []
        latest = self._weights_path(self.progress.epochs, step)
        with _written_by_all(latest) as path:
            model.save_weights(path)
        if distribute.is_chief():
            write_json(self.folder / _PROGRESS, vars(self.progress))
            self._drop_weights(needed=(latest, self._weights_path(self.progress.best_epoch)))

    def _weights_path(self, epoch: int, step: int = 0) -> Path:
        return self.folder / (f"epoch-{epoch:04d}" + (f"-step-{step:06d}" if step else "") + ".weights.h5")

    def _weights_files(self) -> list[Path]:
        return [*self.folder.glob("epoch-*.weights.h5"), *self.folder.glob("unfinished-*")]

    def _drop_weights(self, needed: Iterable[Path]) -> None:
        for path in self._weights_files():
            if path not in needed:
                path.unlink()

    def _clear(self) -> None:
        for path in [self.folder / name for name in (_PROGRESS, _SETTINGS, _MODEL)] + self._weights_files():
            path.unlink(missing_ok=True)

    def _check_settings(self, settings: dict[str, Any]) -> None:
        before = self._read(_SETTINGS)
        for name in sorted({*before, *settings}):
            if before.get(name) != settings.get(name):
                raise ValueError(
                    f"{self.folder} holds an interrupted run with {name}={before.get(name)!r}, not "
                    f"{settings.get(name)!r}: go on with its settings, choose another folder, or "
                    "overwrite it (overwrite=True)."
                )

    def _read(self, name: str, keys: Iterable[str] = ()) -> dict[str, Any]:
        path = self.folder / name
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(value, dict) or (keys and not set(keys) <= set(value) <= set(vars(_Progress()))):
                raise ValueError("not what was written there")
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{path} is missing or damaged, so the interrupted run cannot go on: choose another folder, or "
                f"overwrite it (overwrite=True). {error}"
            ) from error
        return value


class _Progress:
    """What `progress.json` holds."""

    def __init__(
        self,
        epochs: int = 0,
        best_epoch: int = 0,
        history: dict[str, list[float]] | None = None,
        random_state: dict[str, Any] | None = None,
        step: int = 0,
        metrics: list[Any] | None = None,
    ):
        self.epochs = epochs
        self.best_epoch = best_epoch
        self.history = history or {}
        self.random_state = random_state or {}
        self.step = step
        self.metrics = metrics or []


class _Keeper(keras.callbacks.Callback):
    """Hands the state to the run, and stops the training when patience ends."""

    def __init__(self, run: TrainingRun, monitor: str, mode: str, patience: int | None, save_every: int | None):
        super().__init__()
        self.run = run
        self.monitor = monitor
        self.mode = mode
        self.patience = patience
        self.save_every = save_every
        self.first_step = run.progress.step
        self.resumes = run.progress.epochs > 0 or run.progress.step > 0
        self.stopped = False

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        # Not earlier: on some backends, Keras draws numbers while it builds the training step.
        if self.resumes and not self.first_step:
            set_random_state(self.model, self.run.progress.random_state)
            self.resumes = False

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        # Not with the epoch: PyTorch draws a number where it begins to read the data.
        if self.resumes:
            set_random_state(self.model, self.run.progress.random_state)
            set_metric_values(self.model, self.run.progress.metrics)
            self.resumes = False

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self.save_every is None:
            return
        if batch + 1 == (self.params or {}).get("steps"):  # the epoch is about to end, which is kept
            return
        step = self.first_step + batch + 1
        if step // self.save_every > self.run.progress.step // self.save_every:
            self.run._keep(self.model, step)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        if self.monitor not in logs:
            raise ValueError(f"There is no {self.monitor!r} in the logs: {', '.join(logs)}.")
        progress = self.run.progress
        for name, value in logs.items():
            progress.history.setdefault(name, []).append(float(value))
        progress.epochs = epoch + 1
        sign = 1 if self.mode == "max" else -1
        scores = [-math.inf if math.isnan(v) else sign * v for v in progress.history[self.monitor]]
        progress.best_epoch = scores.index(max(scores)) + 1
        self.run._keep(self.model)
        self.first_step = 0
        self.stopped = self.model.stop_training
        if self._has_lost_patience():
            self.model.stop_training = True

    def has_ended(self, epochs: int) -> bool:
        """Whether there is nothing to do."""
        return self.stopped or self._has_lost_patience() or self.run.progress.epochs >= epochs

    def _has_lost_patience(self) -> bool:
        progress = self.run.progress
        return self.patience is not None and progress.epochs - progress.best_epoch >= self.patience


@contextlib.contextmanager
def _written_by_all(path: Path) -> Iterator[Path]:
    """Where each process writes a file, of which that of the first process is kept.

    While Keras saves it makes variables, which under a strategy all processes have to do together.
    """
    if distribute.is_chief():
        with complete_file(path) as unfinished_file:
            yield unfinished_file
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / path.name


def _check_order(save_every: int | None, model: keras.Model, data: Any, arguments: dict[str, Any]) -> None:
    """Raise ValueError where a training could not find its place in the data again."""
    if save_every is not None and (not isinstance(save_every, int) or save_every < 1):
        raise ValueError(f"`save_every` must be an integer of at least 1, or None, but got {save_every!r}.")
    batches = data[0] if data else None
    if not isinstance(batches, keras.utils.PyDataset):
        raise ValueError(
            "`save_every` needs batches whose order is known: `model.batches(...)`, or another keras.utils.PyDataset, "
            f"but got {type(batches).__name__}."
        )
    if not isinstance(batches, Batches) and arguments.get("shuffle", True):
        raise ValueError(f"`save_every` needs shuffle=False: Keras shuffles {type(batches).__name__} without a seed.")
    if arguments.get("steps_per_epoch") is not None:
        raise ValueError("`save_every` needs epochs that go through all batches: leave `steps_per_epoch` out.")


def fingerprint(*columns: Iterable[str]) -> str:
    """A short hash of texts and labels, for `settings`: a training does not go on with other data."""
    digest = hashlib.sha256()
    for column in columns:
        for value in column:
            digest.update(value.encode("utf-8", "surrogatepass") + b"\0")
        digest.update(b"\1")
    return digest.hexdigest()[:16]
