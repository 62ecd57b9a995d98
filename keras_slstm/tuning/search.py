"""Hyperparameter search with keras-tuner's oracles, resumable, with a separate process for each training run."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from keras_slstm.extras import require
from keras_slstm.file_lock import FileLock
from keras_slstm.training.compile_once import compile_once
from keras_slstm.tuning.oracles import TrialStatus, make_oracle
from keras_slstm.tuning.records import (
    BEST_RECORD,
    SEARCH,
    begin_trial,
    best_trial,
    count_records,
    drop_models,
    keep_best,
    read_record,
    read_search,
    read_trials,
    write_record,
)
from keras_slstm.tuning.search_folder import ORACLE, TENSORBOARD, check_complete, claim, is_half_cleared, start_anew
from keras_slstm.tuning.trial import Training, TrialFailure, train_apart

keras_tuner = require("keras_tuner", "tuner")
BaseTuner: Any = require("keras_tuner.engine.base_tuner", "tuner").BaseTuner

ALL = 2**31 - 1  # more trials than any search has


class Search(BaseTuner):
    """A search for good hyperparameters, in a folder that it can resume from.

    keras-tuner's oracles choose the trials, and its chief and workers share them among processes. This class runs the
    trials, because keras-tuner's own tuners (tried in version 1.4.8) have these limits:

    - They train in the process of the search. If the system kills it, as it does when memory runs out, the search ends;
      a resumed search starts that trial again. Here every training run has its own process. A trial that fails (an
      error, a loss that is not finite, a killed process) is recorded with its reason, and the search continues.
    - A resumed search, or a worker that starts again, repeats an interrupted trial from its first epoch. Here the trial
      continues after its last finished epoch.
    - A grid search does not save its position. When resumed within a trial it raises a KeyError; when resumed between
      two trials, it ends without trying the rest. Here it continues.
    - They overwrite their files in place. A half-written `oracle.json` raises a JSONDecodeError in every later run.
      Here files are replaced by complete new ones.
    - `executions_per_trial` repeats a training run without setting its seed. Here a trial trains once with each of the
      `seeds`, and its score is the mean of their scores.

    When the search has ended, the folder holds

    - `best.keras`, the best model with the weights of its best epoch, and `best.json`, its record;
    - `trial_*/record.json`, the results of each trial (see `read_trials`);
    - `tensorboard/`, for TensorBoard and its HParams page, if the backend is TensorFlow;
    - the state to resume from.

    Several processes search together if `KERASTUNER_TUNER_ID`, `KERASTUNER_ORACLE_IP` and `KERASTUNER_ORACLE_PORT` are
    set, as keras-tuner documents: each creates the same `Search` in a folder that all of them share. No other search
    can use the folder while this object, or that of the chief, exists.

    Args:
        hypermodel: A `TaskHyperModel`.
        folder: The folder. It is created. Without a search, it must be empty.
        tuner: `"random"`, `"bayesian"`, `"hyperband"` or `"grid"`.
        max_trials: Largest number of trials, including failed ones and those before an interruption. None, for
            `"hyperband"` and `"grid"`: no limit.
        epochs: Largest number of epochs of a training run.
        patience: Training stops after this many epochs without improvement. None: never.
        seeds: A trial trains once with each seed. Its score is the mean of their scores.
        seed: Seed of the random choices of the search.
        factor: For `"hyperband"`: each round keeps one trial in `factor` and trains it for `factor` times the epochs.
        resume: Whether to continue the search in the folder.
        overwrite: Whether to delete the files of the search in the folder and start anew. Other files stay.
        strategy: `"mirrored"` to use `tf.distribute.MirroredStrategy` in each training run.
        modules: Names of modules to import before each training run: those that register your encoders and spaces.

    Raises:
        FileExistsError: If the folder contains a search, and neither `resume` nor `overwrite` is true; or if it
            contains other files, but no search.
        NotADirectoryError: If there is a file in place of the folder.
        BlockingIOError: If another process searches in the folder.
        ValueError: If an argument is out of range, or the folder contains a search with other settings or with a
            missing file.

    Example:

    ```python
    hypermodel = ClassificationHyperModel(keras_slstm.datasets.load_corpus("travel_desk"), ["slstm", "bilstm"])
    if __name__ == "__main__":  # each training run is a process that imports this file
        Search(hypermodel, "runs/search", "bayesian", max_trials=20, epochs=5).search()
        model = keras.saving.load_model("runs/search/best.keras")
    ```
    """

    def __init__(
        self,
        hypermodel: Any,
        folder: str | os.PathLike[str],
        tuner: str = "random",
        max_trials: int | None = 20,
        epochs: int = 20,
        patience: int | None = 5,
        seeds: Sequence[int] = (0,),
        seed: int = 0,
        factor: int = 3,
        resume: bool = False,
        overwrite: bool = False,
        strategy: str | None = None,
        modules: Sequence[str] = (),
    ):
        for name, value in (("epochs", epochs), ("patience", 1 if patience is None else patience)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"`{name}` must be an integer of at least 1, but got {value!r}.")
        if not seeds or len({*seeds}) < len(seeds):
            raise ValueError(f"`seeds` must be one or more distinct numbers, but got {list(seeds)}.")
        if strategy not in (None, "mirrored"):
            raise ValueError(f'`strategy` must be None or "mirrored", but got {strategy!r}.')
        if strategy and keras.backend.backend() != "tensorflow":
            raise ValueError(f"`strategy` needs the TensorFlow backend, but Keras runs on {keras.backend.backend()}.")
        oracle = make_oracle(tuner, hypermodel.objective, hypermodel.direction, max_trials, seed, epochs, factor)
        self.folder = Path(folder).absolute()
        self.tuner_name = tuner
        self.max_trials = max_trials
        self.epochs = epochs
        self.patience = patience
        self.seeds = list(seeds)
        self.strategy = strategy
        self.modules = tuple(modules)
        about = {
            "tuner": tuner,
            "objective": hypermodel.objective,
            "direction": hypermodel.direction,
            "epochs": epochs,
            "patience": patience,
            "seeds": self.seeds,
            "seed": seed,
            "factor": factor if tuner == "hyperband" else None,
            "backend": keras.backend.backend(),
            "hypermodel": hypermodel.description(),
        }
        self._about = json.loads(json.dumps(about))  # as JSON gives it back
        self._is_member = os.environ.get("KERASTUNER_TUNER_ID", "chief") != "chief"
        if not self._is_member:
            self._lock = self._prepare_folder(resume, overwrite)
        super().__init__(oracle, hypermodel, directory=str(self.folder.parent), project_name=self.folder.name)
        self._oracle_of_folder = oracle
        oracle.verbose = 0

    def search(self) -> None:
        """Run the remaining trials, or, in the chief of several processes, hand them out.

        Raises:
            RuntimeError: If no trial has succeeded.
            OSError: If the disk is full, or another process trains in the folder. The search continues with the same
                trial when it is started again.
        """
        super().search()
        if os.environ.get("KERASTUNER_TUNER_ID") != "chief" and best_trial(self.folder) is None:
            raise RuntimeError(f"No trial has succeeded. The reasons are in {self.folder}/trial_*/record.json.")

    def run_trial(self, trial: Any) -> dict[str, float]:
        """Train once for each seed, and return the objective; raise `FailedTrialError` with the reason of a failure."""
        self._check_about()
        trial_folder = Path(self.get_trial_dir(trial.trial_id))
        begin_trial(trial_folder, trial.hyperparameters.values)
        record = read_record(trial_folder)  # present if the trial ended just before a crash
        if record is None:
            record = self._run(trial, trial_folder)
            write_record(trial_folder, record)
        if "failure" in record:
            raise keras_tuner.errors.FailedTrialError(record["failure"])
        return {self.oracle.objective.name: record["score"]}

    def on_trial_end(self, trial: Any) -> None:
        super().on_trial_end(trial)
        before = best_trial(self.folder)
        best = self._keep_best()
        if self.tuner_name != "hyperband":  # which may continue any trial
            for trial_id in {trial.trial_id, before} - {best, None}:
                drop_models(self.folder / f"trial_{trial_id}")
        self._report(trial)

    def on_search_end(self) -> None:
        self._keep_best()  # a crash may have prevented it
        for trial in self.oracle.get_best_trials(ALL):
            if trial.status in ("COMPLETED", "FAILED"):
                drop_models(self.folder / f"trial_{trial.trial_id}")

    def _keep_best(self) -> str | None:
        """Keep the model of the best trial, and return the trial's id; None if no trial has succeeded.

        Another process may be writing the model of a trial that was the best one a moment ago. Every process looks
        again after it has written, so the last one to write keeps the right model.
        """
        best = self._best_id()
        while best is not None:
            kept = keep_best(self.folder, best)
            now = self._best_id()
            if best == now == best_trial(self.folder):
                return best
            if best == now and not kept:
                raise RuntimeError(f"The model of the best trial is missing: {self.folder / f'trial_{best}'}.")
            best = now
        return None

    def _best_id(self) -> str | None:
        for trial in self.oracle.get_best_trials(1):
            if trial.status == "COMPLETED":
                return trial.trial_id
        return None

    def _run(self, trial: Any, trial_folder: Path) -> dict[str, Any]:
        values = dict(trial.hyperparameters.values)
        started = time.monotonic()
        record: dict[str, Any] = {"trial": trial.trial_id, "values": values}
        try:
            with compile_once():
                runs = {f"seed{seed}": train_apart(self.training(values, seed, trial_folder)) for seed in self.seeds}
        except TrialFailure as failure:
            return {**record, "failure": str(failure), "seconds": time.monotonic() - started}
        sign = 1 if self.hypermodel.direction == "max" else -1
        first = next(iter(runs.values()))
        times = [run["seconds_per_epoch"] for run in runs.values() if run["seconds_per_epoch"] is not None]
        return {
            **record,
            "settings": first["settings"],
            "score": statistics.fmean(run["score"] for run in runs.values()),
            "best_run": max(runs, key=lambda name: sign * runs[name]["score"]),
            "parameters": first["parameters"],
            "epochs": max(run["epochs"] for run in runs.values()),
            "seconds_per_epoch": statistics.fmean(times) if times else None,
            "seconds": time.monotonic() - started,
            "runs": {name: {key: run[key] for key in run if key != "settings"} for name, run in runs.items()},
        }

    def training(self, values: dict[str, Any], seed: int, trial_folder: Path, test: Any = None) -> Training:
        """Describe the training run with these values and one seed; `test` holds examples to evaluate the model on."""
        name = f"seed{seed}"
        earlier = values.get("tuner/trial_id")
        shows = keras.backend.backend() == "tensorflow" and importlib.util.find_spec("tensorboard") is not None
        return Training(
            hypermodel=self.hypermodel,
            values=values,
            seed=seed,
            folder=trial_folder / name,
            epochs=values.get("tuner/epochs", self.epochs),
            patience=self.patience,
            earlier=None if earlier is None else self.folder / f"trial_{earlier}" / name,
            strategy=self.strategy,
            modules=self.modules,
            test=test,
            tensorboard=self.folder / TENSORBOARD / f"{trial_folder.name}-{name}" if shows else None,
        )

    def _report(self, trial: Any) -> None:
        """Print one line about a trial that has ended."""
        record = read_record(self.folder / f"trial_{trial.trial_id}") or {}
        limit = self._oracle_of_folder.max_trials
        line = f"trial {trial.trial_id}, {count_records(self.folder)}{f' of {limit}' if limit else ''} ended: "
        if "failure" in record:
            line += f"failed: {record['failure']}"
        else:
            best = json.loads((self.folder / BEST_RECORD).read_text(encoding="utf-8"))
            line += f"{self.oracle.objective.name} {record['score']:.4f} (best so far {best['score']:.4f})"
        several = [p.name for p in trial.hyperparameters.space if len(list(p.values)) > 1]
        shown = [f"{name}={_short(record['values'][name])}" for name in several if name in record.get("values", {})]
        print(f"{line}, {record.get('seconds', 0):.0f} s{self._time_left(limit)}; {' '.join(shown)}", flush=True)

    def _time_left(self, limit: int | None) -> str:
        """The expected time of the remaining trials, one after the other."""
        seconds = [record["seconds"] for record in read_trials(self.folder)]
        if limit is None or len(seconds) >= limit:
            return ""
        return f", about {math.ceil((limit - len(seconds)) * statistics.fmean(seconds) / 60)} min left"

    # The folder.

    def _prepare_folder(self, resume: bool, overwrite: bool) -> FileLock:
        """Lock the folder, check the search in it or start a new one, and return the lock."""
        if resume and overwrite:
            raise ValueError("Pass `resume` or `overwrite`, not both.")
        lock = claim(self.folder)
        try:
            self._start_or_resume(resume, overwrite)
        except BaseException:
            del lock  # which the traceback would keep
            raise
        return lock

    def _start_or_resume(self, resume: bool, overwrite: bool) -> None:
        if not (self.folder / SEARCH).exists() or overwrite or (resume and is_half_cleared(self.folder)):
            start_anew(self.folder, self._about)
            return
        if not resume:
            raise FileExistsError(
                f"{self.folder} contains a search: resume it (resume=True), overwrite it (overwrite=True), or choose "
                "another folder."
            )
        self._check_about()
        check_complete(self.folder)

    def _check_about(self) -> None:
        before = read_search(self.folder)
        for name in sorted({*before, *self._about}):
            if before.get(name) != self._about.get(name):
                path, theirs, ours = _difference(name, before.get(name), self._about.get(name))
                raise ValueError(
                    f"{self.folder} contains another search: its {path} is {theirs}, not {ours}. Use its settings, "
                    "choose another folder, or overwrite it (overwrite=True)."
                )

    # keras-tuner takes every error for a failure of the trial, and prints its traceback.

    def _try_run_and_update_trial(self, trial: Any) -> None:
        try:
            self._run_and_update_trial(trial)
            trial.status = TrialStatus.COMPLETED
        except keras_tuner.errors.FailedTrialError as failure:
            trial.status, trial.message = TrialStatus.FAILED, str(failure)

    # keras-tuner has a state file for each process; here the oracle's file holds everything.

    def _get_tuner_fname(self) -> str:
        return str(self.folder / ORACLE)

    def save(self) -> None:
        if not self._is_worker():
            self.oracle.save()

    def reload(self) -> None:
        if not self._is_worker():
            self.oracle.reload()

    def _populate_initial_space(self) -> None:
        hp = self.oracle.get_space()
        self.hypermodel.declare_hyperparameters(hp)  # keras-tuner would build models to find them
        self.oracle.update_space(hp)

    def pre_create_trial(self) -> None:
        time.sleep(0.05)  # keras-tuner polls without a pause while the oracle has no trial yet


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _difference(path: str, one: Any, other: Any) -> tuple[str, str, str]:
    """The first difference between two values: the names that lead to it, and both, cut to 200 characters."""
    while isinstance(one, dict) and isinstance(other, dict):
        name = next(name for name in sorted({*one, *other}) if one.get(name) != other.get(name))
        path = f"{path} {name}"
        one, other = one.get(name), other.get(name)
    if isinstance(one, list) and isinstance(other, list):
        pairs = [(a, b) for a, b in zip(one, other) if a != b]
        if pairs and len(one) == len(other):
            one, other = pairs[0]
    return path, repr(one)[:200], repr(other)[:200]
