"""What a search leaves behind: a record for each trial, and the best model."""

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


def read_search(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What `Search` wrote about itself when it began.

    Raises:
        FileNotFoundError: If the folder holds no search.
    """
    path = Path(folder) / SEARCH
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no search: there is no {path}.")
    return _read(path)


def read_trials(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The records of the trials that have ended, in the order in which they began.

    A record holds `trial` (its id), `values` (of the hyperparameters), `settings` (all of the model and its training),
    `seconds` (with the start of its process), and either `score`, `parameters`, `seconds_per_epoch`, `epochs` and
    `runs`, one for each seed, or `failure`, the reason why it failed.

    Raises:
        FileNotFoundError: If the folder holds no search.
        ValueError: If a record is damaged.
    """
    read_search(folder)
    paths = Path(folder).glob(f"trial_*/{_RECORD}")
    return sorted((_read(path) for path in paths), key=lambda record: int(record["trial"]))


def read_confirmation(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What `confirm` found; None where it was not asked.

    Raises:
        ValueError: If the file is damaged.
    """
    path = Path(folder) / CONFIRMATION
    return _read(path) if path.exists() else None


def read_record(trial_folder: Path) -> dict[str, Any] | None:
    """The record of a trial; None while it has not ended."""
    path = trial_folder / _RECORD
    return _read(path) if path.exists() else None


def write_record(trial_folder: Path, record: dict[str, Any]) -> None:
    """Say that a trial has ended, and how."""
    write_json(trial_folder / _RECORD, record)


def count_records(folder: Path) -> int:
    """How many trials have ended."""
    return sum(1 for _ in folder.glob(f"trial_*/{_RECORD}"))


def keep_best(folder: Path, trial_id: str) -> bool:
    """Make the model of a trial the best one, unless it is already; whether it could be done.

    It cannot where another process has found a better one in the meantime, and dropped this one's.
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
        write_json(folder / BEST_RECORD, record)  # at last: it says that the model is there
        return True
    return False


def best_trial(folder: Path) -> str | None:
    """The id of the trial that the best model is of."""
    path = folder / BEST_RECORD
    return _read(path)["trial"] if path.exists() else None


def drop_models(trial_folder: Path) -> None:
    """Delete the models of a trial, and what a training could go on with; the records stay."""
    for path in trial_folder.glob(f"*/{TRIAL_MODEL}"):
        path.unlink(missing_ok=True)
    for path in trial_folder.glob("*/run"):
        shutil.rmtree(path, ignore_errors=True)


def format_scores(scores: Sequence[float]) -> str:
    """The mean of several scores, and their standard deviation; one score as it is."""
    mean, spread = mean_and_spread(scores)
    return f"{mean:.4f}" + (f" ± {spread:.4f}" if len(scores) > 1 else "")


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise ValueError("a JSON object was expected")
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    return value
