"""Training runs that resume after an interruption."""

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
    """A training run in a folder: its settings, its progress and, at the end, its model.

    After each epoch, and optionally every few steps, the run saves the weights, the optimizer's state, the state of the
    random generators and the metrics, the position in the data, the history and the best epoch so far; `progress.json`,
    replaced atomically, names the valid weights. A run that was interrupted at any moment resumes from there, and ends
    with the same weights as without the interruption.

    The file `run.json` marks the folder as that of a run. Any other folder must be empty: a run never deletes or
    replaces other files. While this object exists, no other process can train in its folder.

    If several processes train together (`keras_slstm.distribute`), all of them create and call this in the same way,
    with a folder that all of them see. Only the first one writes there.

    Args:
        folder: The folder. It is created if needed.
        settings: Everything that determines the training, as JSON values. A run only resumes with equal settings.
        overwrite: Whether to delete the files of an earlier run in the folder.

    Attributes:
        folder: The folder.
        id: Identifies the run. A resumed run keeps its id; a run that overwrites another gets a new one.

    Raises:
        FileExistsError: If the folder contains a finished run, or files that do not belong to a run.
        BlockingIOError: If another process trains in the folder.
        ValueError: If the folder contains an interrupted run with other settings or with a missing or damaged file, or
            if the processes that train together have different settings.

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
        settings = json.loads(json.dumps(settings or {}))  # as they are after reading them back
        check_equal({"setting": settings}, "settings of the run")
        place = f"the run in {self.folder}"
        in_turn(distribute.is_chief(), lambda: self._open(settings, overwrite), place)
        in_turn(not distribute.is_chief(), lambda: self._resume(settings), place)
        self.id = self._files.run_id

    def _open(self, settings: dict[str, Any], overwrite: bool) -> None:
        """Start or resume a run."""
        self._files.claim()
        try:
            if not overwrite and self._files.is_finished():
                self._files.drop_weights()  # left by a process that was killed after saving the model
                raise FileExistsError(
                    f"{self.folder} contains a finished run: choose another folder, or overwrite it (overwrite=True)."
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
        """The file to which `save` writes the model."""
        return self._files.model

    @property
    def epochs_done(self) -> int:
        """Number of finished epochs; above 0 at the start if the run was interrupted."""
        return self.progress.epochs

    @property
    def steps_done(self) -> int:
        """Number of finished steps in the current epoch; above 0 at the start if the run was interrupted in it."""
        return self.progress.step

    @property
    def best_epoch(self) -> int:
        """The best epoch so far, counted from 1; 0 before the first."""
        return self.progress.best_epoch

    @property
    def history(self) -> dict[str, list[float]]:
        """For each entry of Keras' logs, a list with one value per finished epoch."""
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
        """Train, or resume an interrupted run. The model ends with the weights of the best epoch.

        Args:
            model: A compiled and built model.
            *data: The data, as for `model.fit`. `save_every` needs batches whose order depends only on the epoch: those
                of the models of this package (`model.batches`), or another `keras.utils.PyDataset` with
                `shuffle=False`.
            epochs: Number of epochs, including finished ones.
            updates: Number of weight updates, instead of `epochs`, rounded up to whole epochs. With few examples, use
                batches with `min_batches`, so that the state is not saved after every few updates.
            monitor: The entry of Keras' logs with the score. The best epoch has the best score and, among equal scores,
                the lowest loss (`val_loss`, else `loss`). A score that is not finite is never the best.
            mode: `"max"` or `"min"`.
            patience: Stop after this many epochs without improvement or, with `updates`, after this many updates. Once
                the score is 1.0 and `mode` is `"max"`, a lower loss does not count as an improvement. None: never.
            save_every: Also save the state after this many steps. None: only after each epoch.
            skip_non_finite: Whether to skip steps whose loss is not finite. False: stop, and name the step. See
                `CheckLoss`.
            callbacks: Further callbacks. Their own state is neither saved nor restored.
            **arguments: Further arguments of `model.fit`.

        Returns:
            For each entry of Keras' logs, a list with one value per epoch, including earlier epochs.

        Raises:
            NonFiniteLossError: See `skip_non_finite`. The folder keeps the last state saved before that step.
            keras_slstm.distribute.WorkerLost: If another process of the run has died.
            ValueError: If an argument is invalid, or processes see different folders.
        """
        if mode not in ("max", "min"):
            raise ValueError(f'`mode` must be "max" or "min", but got {mode!r}.')
        if (epochs is None) == (updates is None):
            raise ValueError(f"Pass either `epochs` or `updates`, but got epochs={epochs}, updates={updates}.")
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
                f"There is no best epoch, because {monitor!r} is not finite in any epoch: the model keeps the weights "
                "of the last epoch.",
                RuntimeWarning,
                stacklevel=2,
            )
        return self.progress.history

    def save(self, model: keras.Model, finish: bool = True) -> Path:
        """Write the model to `model_path` for inference, without its optimizer.

        Args:
            model: The trained model.
            finish: Whether this ends the run. False: it can be resumed (for example, to write its results again) until
                `finish` is called.
        """
        with _saved_by_all_processes(self.model_path) as path:
            save_for_inference(model, path)
        if finish:
            self.finish()
        return self.model_path

    def finish(self) -> None:
        """End the run after saving its model: delete the files that are only needed to resume it."""
        self.progress.finished = True
        if distribute.is_chief():
            write_json(self._files.progress, vars(self.progress))
            self._files.drop_weights()
            self._files.release()
        barrier()

    def _check_agreement(self) -> None:
        """Raise ValueError unless all processes resume from the same position."""
        places = all_gather([self.progress.epochs, self.progress.step])
        if any(place != places[0] for place in places):
            raise ValueError(
                f"Processes find different states in {self.folder}: use a folder that all of them see. "
                f"Finished epochs and steps of each process: {places}."
            )


@contextlib.contextmanager
def _saved_by_all_processes(path: Path) -> Iterator[Path]:
    """Let each process write a file, and keep that of the first.

    Keras creates variables while saving, and under a strategy all processes must create them together.
    """
    if distribute.is_chief():
        with complete_file(path) as unfinished_file:
            yield unfinished_file
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / path.name


def _check_order(save_every: int | None, model: keras.Model, data: Any, arguments: dict[str, Any]) -> None:
    """Raise ValueError if a resumed run could not find its position in the data."""
    if save_every is not None and (not isinstance(save_every, int) or save_every < 1):
        raise ValueError(f"`save_every` must be an integer of at least 1, or None, but got {save_every!r}.")
    batches = data[0] if data else None
    if not isinstance(batches, keras.utils.PyDataset):
        raise ValueError(
            "`save_every` needs batches in a known order: `model.batches(...)` or another keras.utils.PyDataset, but "
            f"got {type(batches).__name__}."
        )
    if not isinstance(batches, SeededEpochs) and arguments.get("shuffle", True):
        raise ValueError(f"`save_every` needs shuffle=False: Keras shuffles {type(batches).__name__} without a seed.")
    if arguments.get("steps_per_epoch") is not None:
        raise ValueError("`save_every` needs epochs over all batches: remove `steps_per_epoch`.")
