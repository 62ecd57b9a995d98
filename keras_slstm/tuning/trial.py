"""One training run of a trial, in a separate process, which frees all memory when it ends."""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import shutil
import signal
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras

from keras_slstm.extras import require
from keras_slstm.files import DISK_IS_FULL, complete_file, write_json
from keras_slstm.lifetime import end_after
from keras_slstm.training.stopwatch import Stopwatch
from keras_slstm.training.training_run import TrainingRun
from keras_slstm.tuning.records import TRIAL_MODEL

_RESULT = "result.json"
_FAILURE = "failure.json"
_STOPPED = 75  # exit status of a training that stopped through no fault of its own (EX_TEMPFAIL in sysexits.h)
_AGAIN = "start the search again, without overwrite=True."
_UNWRITABLE = f"no file can be written there. Free some space, or make the folder writable, and {_AGAIN}"


class TrialFailure(Exception):
    """Raised when a training run fails; the message is the reason."""


@dataclass(frozen=True)
class Training:
    """The arguments of one training run.

    Attributes:
        hypermodel: A `TaskHyperModel`.
        values: The values of the hyperparameters.
        seed: Seed of the weights, dropout and the order of the batches.
        folder: Where the result is written.
        epochs: Largest number of epochs, including those of `earlier`.
        patience: Stop after this many epochs without improvement; None: never.
        earlier: The folder of an earlier training run that this one continues, or None.
        strategy: `"mirrored"` to train on all GPUs of this machine.
        modules: Modules to import first: those that register your encoders and spaces.
        test: Examples to evaluate the trained model on, or None.
        tensorboard: Folder for TensorBoard's files, or None.
    """

    hypermodel: Any
    values: dict[str, Any]
    seed: int
    folder: Path
    epochs: int
    patience: int | None = None
    earlier: Path | None = None
    strategy: str | None = None
    modules: tuple[str, ...] = ()
    test: Any = None
    tensorboard: Path | None = None


def train_apart(training: Training) -> dict[str, Any]:
    """Train in a new process, or continue an interrupted run after its last epoch, and return the results.

    Raises:
        TrialFailure: If the training raises an error, its loss or its score is not finite, or the system ends its
            process.
        OSError: If the disk is full, or another process uses the folder. The training can continue later.
    """
    result = training.folder / _RESULT
    if not result.exists():
        failure = training.folder / _FAILURE
        failure.unlink(missing_ok=True)
        exit_code = run_process(training)
        reason = json.loads(failure.read_text(encoding="utf-8"))["reason"] if failure.exists() else None
        if exit_code == _STOPPED:
            raise OSError(f"The training in {training.folder} has stopped: {reason or _UNWRITABLE}")
        if reason is not None or not result.exists():
            raise TrialFailure(reason or _reason(exit_code))
    return json.loads(result.read_text(encoding="utf-8"))


def run_process(training: Training) -> int | None:
    """Train in a new process, wait for its end, and return its exit status."""
    process = multiprocessing.get_context("spawn").Process(target=_main, args=(training,))
    process.start()
    try:
        process.join()
    finally:
        process.kill()  # if this process is interrupted
        process.join()
    return process.exitcode


def attempt(training: Training) -> int:
    """Train in this process, write a file with the result or the reason of a failure, and return an exit status."""
    try:
        train(training)
    except Exception as error:
        obstacle = _obstacle(error)
        reason = _describe(error) if obstacle is None else obstacle
        try:
            write_json(training.folder / _FAILURE, {"reason": reason, "traceback": traceback.format_exc()})
        except OSError:
            return _STOPPED
        return 1 if obstacle is None else _STOPPED
    return 0


def train(training: Training) -> dict[str, Any]:
    """Train in this process, and return the results."""
    for module in training.modules:
        importlib.import_module(module)
    hypermodel = training.hypermodel
    hp = require("keras_tuner", "tuner").HyperParameters()
    hp.values = dict(training.values)
    _continue_earlier(training)
    keras.utils.set_random_seed(training.seed)
    settings = hypermodel.settings(hp)
    with _scope(training.strategy):
        model = hypermodel.build(hp)
    run = TrainingRun(training.folder / "run", {**settings, "seed": training.seed})
    options = hypermodel.fit_options(hp, model, training.seed)
    stopwatch = Stopwatch(options["x"])
    history = run.fit(
        model,
        options.pop("x"),
        epochs=training.epochs,
        monitor=hypermodel.objective,
        mode=hypermodel.direction,
        patience=training.patience,
        callbacks=[stopwatch, *options.pop("callbacks", ())],
        verbose=0,
        **options,
    )
    if not run.best_epoch:
        raise TrialFailure(f"{hypermodel.objective} is not finite in any epoch")
    with complete_file(training.folder / TRIAL_MODEL) as unfinished:
        model.save(unfinished)
    found = {
        "score": history[hypermodel.objective][run.best_epoch - 1],
        "best_epoch": run.best_epoch,
        "epochs": run.epochs_done,
        "parameters": model.count_params(),
        "seconds_per_epoch": stopwatch.seconds_per_epoch,
        "seed": training.seed,
        "settings": settings,
        "history": history,
    }
    if training.test is not None:
        found["test"] = hypermodel.measure(model, training.test)
    if training.tensorboard is not None:
        _write_tensorboard(training.tensorboard, training.values, history)
    write_json(training.folder / _RESULT, found)
    return found


def _main(training: Training) -> None:
    """The program of the new process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        end_after(lambda: multiprocessing.connection.wait([parent.sentinel]))
    raise SystemExit(attempt(training))


def _obstacle(error: BaseException | None) -> str | None:
    """Return the reason why a training that is not at fault stopped; None if it failed by itself.

    The cause may be hidden: h5py, for example, raises a RuntimeError while it closes a file that it could not write.
    """
    while error is not None:
        if isinstance(error, BlockingIOError):
            return str(error)
        if isinstance(error, OSError) and error.errno in DISK_IS_FULL:
            return _full_disk(error.errno)
        error = error.__context__
    return None


def _full_disk(number: int) -> str:
    return f"{os.strerror(number)}. Free some space (or raise the quota of this account) and {_AGAIN}"


def _describe(error: Exception) -> str:
    """The reason of a failure, in one line."""
    first_line = str(error).strip().partition("\n")[0]
    if isinstance(error, TrialFailure):
        return first_line
    return f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__


def _reason(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"the process ended with status {exit_code} and without a result"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = str(-exit_code)
    because = ", perhaps because memory ran out" if name == "SIGKILL" else ""
    return f"the process was ended by signal {name}{because}"


def _continue_earlier(training: Training) -> None:
    """Start from the state of the earlier training, unless this training has already started."""
    if training.earlier is None or (training.folder / "run").exists():
        return
    copy = training.folder / "run.unfinished"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for path in (training.earlier / "run").iterdir():  # `copytree` would hide that the disk is full
        shutil.copy2(path, copy)
    os.replace(copy, training.folder / "run")


@contextlib.contextmanager
def _scope(strategy: str | None) -> Iterator[None]:
    if strategy is None:
        yield
        return
    import tensorflow as tf

    with tf.distribute.MirroredStrategy().scope():
        yield


def _write_tensorboard(folder: Path, values: dict[str, Any], history: dict[str, list[float]]) -> None:
    """Write the hyperparameters and metrics of a training run for TensorBoard and its HParams page."""
    import tensorflow as tf
    from tensorboard.plugins.hparams import api

    shutil.rmtree(folder, ignore_errors=True)  # left by an interrupted attempt
    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        api.hparams({name: value for name, value in values.items() if not name.startswith("tuner/")})
        for name, column in history.items():
            for epoch, value in enumerate(column):
                tf.summary.scalar(name, value, step=epoch)
    writer.close()
