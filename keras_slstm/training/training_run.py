"""Trainings that resume after an interruption."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import keras

from keras_slstm import distribute
from keras_slstm.distribute.collectives import all_gather, barrier, check_equal, in_turn
from keras_slstm.files import complete_file, write_json
from keras_slstm.saving import save_for_inference
from keras_slstm.text.batches import count_epochs
from keras_slstm.text.epochs import SeededEpochs
from keras_slstm.training.check_loss import CheckLoss
from keras_slstm.training.checkpoints import Checkpoints
from keras_slstm.training.progress import Progress
from keras_slstm.training.run_folder import RunFolder
from keras_slstm.training.state import RestOfEpoch, unfinished


class TrainingRun:
    """A folder that holds one training: its settings, how far it has come, and in the end its model.

    After each epoch, and every so many steps if asked for, the run writes the weights, the optimizer's state, the state
    of the random generators and of the metrics, the place in the data, the history and the best epoch so far;
    `progress.json`, replaced as a whole, says which weights count. A training that was interrupted, at whatever moment,
    goes on from there, and ends with the weights that it would have had without the interruption.

    The file `run.json` marks the folder as that of a run. Any other folder must be empty: the run neither deletes nor
    replaces files of others. While the run exists, no other process can train in its folder.

    Where several processes train together (`keras_slstm.distribute`), all of them make and call this alike, with a
    folder that all of them see. Only the first one writes there.

    Args:
        folder: The folder. It is created.
        settings: All that determines the training, as JSON values. A training resumes with equal settings only.
        overwrite: Whether to delete what an earlier run left in the folder.

    Attributes:
        folder: The folder.
        id: Identifies the run. A run that resumes keeps it; one that overwrites another has its own.

    Raises:
        FileExistsError: If the folder holds a finished run, or files that are not a run's.
        BlockingIOError: If another process trains in it.
        ValueError: If it holds an interrupted run with other settings, or with a missing or damaged file; or if other
            processes of this training have other settings.

    Example:

    ```python
    run = TrainingRun("runs/demo", settings={"units": 100, "seed": 0})
    history = run.fit(model, train, validation_data=dev, updates=2000, patience=600)
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
        self.progress = Progress()
        self._files = RunFolder(folder)
        settings = json.loads(json.dumps(settings or {}))  # as JSON gives them back
        check_equal({"setting": settings}, "settings of the run")
        place = f"the run in {self.folder}"
        in_turn(distribute.is_chief(), lambda: self._open(settings, overwrite), place)
        in_turn(not distribute.is_chief(), lambda: self._resume(settings), place)
        self.id = self._files.run_id

    def _open(self, settings: dict[str, Any], overwrite: bool) -> None:
        """Begin a run, or go on with one."""
        self._files.claim()
        try:
            if not overwrite and self._files.is_finished():
                self._files.drop_weights()  # left by a process that was killed after it had saved the model
                raise FileExistsError(
                    f"{self.folder} holds a finished run: choose another folder, or overwrite it (overwrite=True)."
                )
            if not overwrite and self._files.progress.exists():
                self._resume(settings)
            else:
                self._files.clear()
                write_json(self._files.settings, settings)
        except BaseException:
            self._files.release()
            raise

    def _resume(self, settings: dict[str, Any]) -> None:
        self._files.check_settings(settings)
        if self._files.progress.exists():
            self.progress = self._files.read_progress()

    @property
    def model_path(self) -> Path:
        """Where `save` puts the model."""
        return self._files.model

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
        epochs: int | None = None,
        updates: int | None = None,
        monitor: str = "val_accuracy",
        mode: str = "max",
        patience: int | None = None,
        save_every: int | None = None,
        skip_non_finite: bool = False,
        callbacks: Iterable[keras.callbacks.Callback] = (),
        **arguments: Any,
    ) -> dict[str, list[float]]:
        """Train, or go on with an interrupted training. The model ends with the weights of the best epoch.

        Args:
            model: A compiled model that has its weights.
            *data: The data, as `model.fit` takes it. `save_every` needs batches in an order that depends on the epoch
                only: those of the package's models (`model.batches`), or another `keras.utils.PyDataset` with
                `shuffle=False`.
            epochs: Number of epochs, finished ones included.
            updates: Number of updates of the weights, in place of `epochs`: the epochs that make at least so many. For
                few examples give batches with `min_batches`, so that the state is not written after every few updates.
            monitor: The entry of Keras' logs with the score. The epoch with the best score is the best; of epochs with
                equal scores, the one with the lowest loss (`val_loss`, else `loss`). A score that is infinite or not a
                number is never the best.
            mode: `"max"` or `"min"`.
            patience: Stop after this many epochs without a better one, or, with `updates`, after this many updates.
                Once the score is 1.0 and `mode` is `"max"`, a lower loss makes no epoch better. None: never.
            save_every: Write the state also after this many steps. None: after each epoch only.
            skip_non_finite: Whether to leave steps out whose loss is infinite or not a number. False: stop, and name
                the step. See `CheckLoss`.
            callbacks: Further callbacks. They are not resumed.
            **arguments: Further arguments of `model.fit`.

        Returns:
            A list with one value per epoch for each entry of Keras' logs, earlier epochs included.

        Raises:
            NonFiniteLossError: See `skip_non_finite`. The folder keeps the last state before that step.
            keras_slstm.distribute.WorkerLost: If another process of the training has died.
            ValueError: If an argument does not fit, or processes see different folders.
        """
        if mode not in ("max", "min"):
            raise ValueError(f'`mode` must be "max" or "min", but got {mode!r}.')
        if (epochs is None) == (updates is None):
            raise ValueError(f"Either `epochs` or `updates` is needed, but got epochs={epochs}, updates={updates}.")
        if updates is not None:
            x, steps = data[0] if data else arguments.get("x"), arguments.get("steps_per_epoch")
            epochs = count_epochs(updates, x, steps)
            patience = None if patience is None else count_epochs(patience, x, steps)
        assert epochs is not None
        if save_every is not None or self.progress.step:
            _check_order(save_every, model, data, arguments)
        self._check_agreement()
        checkpoints = Checkpoints(self._files, self.progress, monitor, mode, patience, save_every)
        checkpoints.restore(model, data)
        options = {**arguments, "callbacks": [*callbacks, CheckLoss(skip_non_finite), checkpoints]}
        if self.progress.step and not checkpoints.has_ended(epochs):
            epoch = self.progress.epochs
            rest = RestOfEpoch(data[0], epoch, self.progress.step)
            one = {**options, "initial_epoch": epoch, "epochs": epoch + 1, "shuffle": False}
            with unfinished(model.optimizer) if epoch + 1 < epochs else contextlib.nullcontext():
                distribute.fit(model, rest, **one)
        if not checkpoints.has_ended(epochs):
            distribute.fit(model, *data, epochs=epochs, initial_epoch=self.progress.epochs, **options)
        barrier()
        if self.progress.best_epoch:
            checkpoints.load_weights(model, self.progress.best_epoch)
        else:
            warnings.warn(
                f"There is no best epoch, because {monitor!r} is no number in any of them: the model keeps the weights "
                "of its last epoch.",
                RuntimeWarning,
                stacklevel=2,
            )
        return self.progress.history

    def save(self, model: keras.Model, finish: bool = True) -> Path:
        """Write the model to `model_path`, to be used: without its optimizer.

        Args:
            model: The trained model.
            finish: Whether the run ends with that. False: it can be resumed (to write its results again, for example)
                until `finish` is called.
        """
        with _written_by_all(self.model_path) as path:
            save_for_inference(model, path)
        if finish:
            self.finish()
        return self.model_path

    def finish(self) -> None:
        """End the run after its model has been saved: delete the files that only serve to resume it."""
        self.progress.finished = True
        if distribute.is_chief():
            write_json(self._files.progress, vars(self.progress))
            self._files.drop_weights()
            self._files.release()
        barrier()

    def _check_agreement(self) -> None:
        """Raise ValueError unless all processes go on from the same place."""
        places = all_gather([self.progress.epochs, self.progress.step])
        if any(place != places[0] for place in places):
            raise ValueError(
                f"Processes find different states in {self.folder}: it must be a folder that all of them see. "
                f"Finished epochs and steps, by process: {places}."
            )


@contextlib.contextmanager
def _written_by_all(path: Path) -> Iterator[Path]:
    """Let each process write a file, and keep that of the first.

    Keras creates variables while it saves, and under a strategy all processes have to create them together.
    """
    if distribute.is_chief():
        with complete_file(path) as unfinished_file:
            yield unfinished_file
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / path.name


def _check_order(save_every: int | None, model: keras.Model, data: Any, arguments: dict[str, Any]) -> None:
    """Raise ValueError if a resumed training could not find its place in the data."""
    if save_every is not None and (not isinstance(save_every, int) or save_every < 1):
        raise ValueError(f"`save_every` must be an integer of at least 1, or None, but got {save_every!r}.")
    batches = data[0] if data else None
    if not isinstance(batches, keras.utils.PyDataset):
        raise ValueError(
            "`save_every` needs batches whose order is known: `model.batches(...)`, or another keras.utils.PyDataset, "
            f"but got {type(batches).__name__}."
        )
    if not isinstance(batches, SeededEpochs) and arguments.get("shuffle", True):
        raise ValueError(f"`save_every` needs shuffle=False: Keras shuffles {type(batches).__name__} without a seed.")
    if arguments.get("steps_per_epoch") is not None:
        raise ValueError("`save_every` needs epochs that go through all batches: leave `steps_per_epoch` out.")
