"""The files of a search: a record of each trial, and the best model."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_slstm.files import complete_file, write_json
from keras_slstm.metrics.summaries import mean_and_spread

BEST_MODEL = "best.keras"
BEST_RECORD = "best.json"
CONFIRMATION = "confirmation.json"
SEARCH = "search.json"
TRIAL_MODEL = "model.keras"
_RECORD = "record.json"
_VALUES = "values.json"


def read_search(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the settings of the search in a folder.

    Raises:
        FileNotFoundError: If the folder contains no search.
    """
    path = Path(folder) / SEARCH
    if not path.is_file():
        raise FileNotFoundError(f"{folder} contains no search: {path} does not exist.")
    return _read(path)


def read_trials(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the records of the trials that have ended, in the order in which they began.

    A record contains `trial` (the trial's id), `values` (of the hyperparameters), `settings` (of the model and its
    training), `seconds` (including the start of its processes), and either `score`, `parameters`, `seconds_per_epoch`,
    `epochs` and `runs` (one for each seed), or `failure`, the reason why it failed.

    Raises:
        FileNotFoundError: If the folder contains no search.
        ValueError: If a record is damaged.
    """
    read_search(folder)
    paths = Path(folder).glob(f"trial_*/{_RECORD}")
    return sorted((_read_trial(path) for path in paths), key=lambda record: int(record["trial"]))


def read_confirmation(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read the results of `confirm`; None before it has run.

    Raises:
        ValueError: If the file is damaged.
    """
    path = Path(folder) / CONFIRMATION
    return _read(path) if path.exists() else None


def begin_trial(trial_folder: Path, values: dict[str, Any]) -> None:
    """Write the values of a trial into its folder, and delete what another trial with this number has left there.

    A crash can make a search forget its latest trial, so that the next one gets the same number.
    """
    path = trial_folder / _VALUES
    record = read_record(trial_folder)  # of an earlier version, if it is all there is
    before = _read(path) if path.exists() else None if record is None else record["values"]
    if before not in (None, values):
        drop_results(trial_folder)
    if before != values or not path.exists():
        write_json(path, values)


def read_record(trial_folder: Path) -> dict[str, Any] | None:
    """Read the record of a trial; None before it has ended."""
    path = trial_folder / _RECORD
    return _read_trial(path) if path.exists() else None


def write_record(trial_folder: Path, record: dict[str, Any]) -> None:
    """Write the record of a trial that has ended."""
    write_json(trial_folder / _RECORD, record)


def count_records(folder: Path) -> int:
    """Count the trials that have ended."""
    return sum(1 for _ in folder.glob(f"trial_*/{_RECORD}"))


def keep_best(folder: Path, trial_id: str) -> bool:
    """Make the model of a trial the best model, and return whether that succeeded.

    It fails if another process has found a better trial in the meantime and has deleted this trial's model.
    """
    trial_folder = folder / f"trial_{trial_id}"
    record = read_record(trial_folder)
    if record is None or "score" not in record:
        return False
    if best_trial(folder) == trial_id:
        return True
    with contextlib.suppress(FileNotFoundError):
        with complete_file(folder / BEST_MODEL) as unfinished:
            shutil.copyfile(trial_folder / record["best_run"] / TRIAL_MODEL, unfinished)
        write_json(folder / BEST_RECORD, record)  # last, because it marks the model as complete
        return True
    return False


def best_trial(folder: Path) -> str | None:
    """Return the id of the trial that `best.keras` belongs to; None if there is no such file."""
    path = folder / BEST_RECORD
    return _read_trial(path)["trial"] if path.exists() else None


def drop_models(trial_folder: Path) -> None:
    """Delete the models of a trial and the states of its training runs, and keep its records."""
    for path in trial_folder.glob(f"*/{TRIAL_MODEL}"):
        path.unlink(missing_ok=True)
    for path in trial_folder.glob("*/run"):
        shutil.rmtree(path, ignore_errors=True)


def drop_results(trial_folder: Path) -> None:
    """Delete all that the trainings of a trial have written, their record last."""
    for path in trial_folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    (trial_folder / _RECORD).unlink(missing_ok=True)


def format_scores(scores: Sequence[float]) -> str:
    """Format the mean and standard deviation of several scores, or a single score as it is."""
    mean, spread = mean_and_spread(scores)
    return f"{mean:.4f}" + (f" ± {spread:.4f}" if len(scores) > 1 else "")


def _read_trial(path: Path) -> dict[str, Any]:
    """Read a record, and check the entries that every record has."""
    record = _read(path)
    advice = "Delete the file to leave this trial out."
    if not str(record.get("trial", "")).isdecimal():
        raise ValueError(f"{path}: `trial` must be a trial number, not {record.get('trial')!r}. {advice}")
    if not isinstance(record.get("values"), dict):
        raise ValueError(f"{path}: `values` must be a dict of values, not {record.get('values')!r}. {advice}")
    if "failure" not in record and not isinstance(record.get("score"), int | float):
        raise ValueError(f"{path}: `score` must be a number, not {record.get('score')!r}. {advice}")
    return record


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # neither JSON nor UTF-8
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} is damaged: expected a JSON object, but found {str(value)[:80]}.")
    return value
