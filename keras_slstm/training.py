"""Trainings that can be interrupted: a folder with all that is needed to go on."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_slstm.files import complete_file, write_json

_MODEL = "model.keras"
_SETTINGS = "settings.json"
_PROGRESS = "progress.json"


class TrainingRun:
    """A folder that holds one training: its settings, how far it came, and in the end its model.

    After each epoch the weights, the optimizer's state, the state of the random generators, the history and
    the best epoch so far are written; `progress.json`, replaced as a whole, says which weights files count. A
    training that was interrupted, at whatever moment, goes on after its last finished epoch, and ends with
    the weights that it would have had without the interruption. A folder that holds a finished model is
    left alone.

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
        if overwrite:
            self._clear()
        if self.model_path.exists():
            raise FileExistsError(
                f"{self.folder} holds a finished run: choose another folder, or overwrite it (overwrite=True)."
            )
        if (self.folder / _PROGRESS).exists():
            self._check_settings(settings)
            self.progress = _Progress(**self._read(_PROGRESS, set(vars(self.progress))))
        else:
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
        callbacks: Iterable[keras.callbacks.Callback] = (),
        **arguments: Any,
    ) -> dict[str, list[float]]:
        """Train, from where an interrupted training stood; the model ends with the weights of the best epoch.

        Args:
            model: A compiled model that has its weights.
            *data: What `model.fit` takes as data.
            epochs: Number of epochs, finished ones included.
            monitor: The entry of Keras' logs that says which epoch is best; of equal ones, the first.
            mode: `"max"` or `"min"`.
            patience: Stop after so many epochs without a better one. None: never.
            callbacks: Further callbacks. They are not resumed.
            **arguments: Further arguments of `model.fit`.

        Returns:
            A list with one value per epoch for each entry of Keras' logs, earlier epochs included.
        """
        if mode not in ("max", "min"):
            raise ValueError(f'`mode` must be "max" or "min", but got {mode!r}.')
        self._restore(model)
        keeper = _Keeper(self, monitor, mode, patience)
        if not keeper.has_lost_patience() and self.progress.epochs < epochs:
            model.fit(
                *data,
                epochs=epochs,
                initial_epoch=self.progress.epochs,
                callbacks=[*callbacks, keeper],
                **arguments,
            )
        if self.progress.best_epoch:
            model.load_weights(self._weights_path(self.progress.best_epoch))
        return self.progress.history

    def save(self, model: keras.Model) -> Path:
        """Write the finished model, and drop what only served to resume."""
        with complete_file(self.model_path) as unfinished:
            model.save(unfinished)
        for path in self._weights_files():
            path.unlink()
        return self.model_path

    def _restore(self, model: keras.Model) -> None:
        if not self.progress.epochs:
            return
        # The optimizer's state is loaded only where it has its variables.
        model.optimizer.build(model.trainable_variables)
        model.load_weights(self._weights_path(self.progress.epochs))

    def _keep(self, model: keras.Model) -> None:
        """Write the state after an epoch. The training has it once `progress.json` is replaced."""
        with complete_file(self._weights_path(self.progress.epochs)) as unfinished:
            model.save_weights(unfinished)
        self.progress.random_state = _random_state(model)
        write_json(self.folder / _PROGRESS, vars(self.progress))
        needed = {self._weights_path(epoch) for epoch in (self.progress.epochs, self.progress.best_epoch)}
        for path in self._weights_files():
            if path not in needed:
                path.unlink()

    def _weights_path(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:04d}.weights.h5"

    def _weights_files(self) -> list[Path]:
        return [*self.folder.glob("epoch-*.weights.h5"), *self.folder.glob("unfinished-*")]

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

    def _read(self, name: str, keys: set[str] | None = None) -> dict[str, Any]:
        path = self.folder / name
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(value, dict) or (keys is not None and set(value) != keys):
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
    ):
        self.epochs = epochs
        self.best_epoch = best_epoch
        self.history = history or {}
        self.random_state = random_state or {}


class _Keeper(keras.callbacks.Callback):
    """Hands each finished epoch to the run, and stops the training when patience ends."""

    def __init__(self, run: TrainingRun, monitor: str, mode: str, patience: int | None):
        super().__init__()
        self.run = run
        self.monitor = monitor
        self.mode = mode
        self.patience = patience
        self.resumes = run.progress.epochs > 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        # Not earlier: on some backends, Keras draws numbers while it builds the training step.
        if self.resumes:
            _set_random_state(self.model, self.run.progress.random_state)
            self.resumes = False

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
        if self.has_lost_patience():
            self.model.stop_training = True

    def has_lost_patience(self) -> bool:
        progress = self.run.progress
        return self.patience is not None and progress.epochs - progress.best_epoch >= self.patience


def fingerprint(*columns: Iterable[str]) -> str:
    """A short hash of texts and labels, for `settings`: a training does not go on with other data."""
    digest = hashlib.sha256()
    for column in columns:
        for value in column:
            digest.update(value.encode("utf-8", "surrogatepass") + b"\0")
        digest.update(b"\1")
    return digest.hexdigest()[:16]


def _random_state(model: keras.Model) -> dict[str, Any]:
    """What decides about the next dropout masks, as JSON values. Keras saves none of it with the weights."""
    state: dict[str, Any] = {
        "seed_generators": [keras.ops.convert_to_numpy(v).tolist() for v in _seed_generators(model)]
    }
    if keras.backend.backend() == "torch":  # where unseeded layers draw from the generators of torch itself
        import torch

        generators = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
        state["torch"] = [base64.b64encode(g.numpy().tobytes()).decode("ascii") for g in generators]
    return state


def _set_random_state(model: keras.Model, state: dict[str, Any]) -> None:
    for variable, value in zip(_seed_generators(model), state["seed_generators"], strict=True):
        variable.assign(np.array(value, dtype=variable.dtype))
    if keras.backend.backend() == "torch" and "torch" in state:
        import torch

        cpu, *cuda = [torch.frombuffer(bytearray(base64.b64decode(g)), dtype=torch.uint8) for g in state["torch"]]
        torch.set_rng_state(cpu)
        if len(cuda) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(cuda)


def _seed_generators(model: keras.Model) -> list[Any]:
    return [v for v in model.variables if v.name == "seed_generator_state"]
