"""The folder of a search: a lock that lets one process search there, and which of its files overwriting deletes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from keras_slstm.file_lock import FileLock, name_of, this_process
from keras_slstm.files import full_disk_named, read_json, write_json
from keras_slstm.tuning.records import BEST_MODEL, BEST_RECORD, CONFIRMATION, SEARCH, count_records

ORACLE = "oracle.json"
_LOCK = "search.lock"
_CLEARING = "search.clearing"  # exists while `start_anew` is at work
TENSORBOARD = "tensorboard"
_PICTURES = ("hyperparameters.png", "cost.png", "course.png", "figure2.png")  # of the report
_FILES = "|".join(map(re.escape, (BEST_MODEL, BEST_RECORD, CONFIRMATION, ORACLE, "report.html", *_PICTURES)))
# A process that is killed while it writes a file leaves its first part under such a name.
_UNFINISHED = r"unfinished-\d+-"
_UNFINISHED_SEARCH = _UNFINISHED + re.escape(SEARCH)
_OWN_NAMES = re.compile(rf"({_UNFINISHED})?({_FILES})|{_UNFINISHED_SEARCH}|trial_\d+|confirmation-[0-9a-f]{{16}}")
# A process that is killed before it has written the settings leaves these.
_FIRST_NAMES = re.compile(f"{re.escape(_LOCK)}|{re.escape(_CLEARING)}|{_UNFINISHED_SEARCH}")
_OWN_LOGS = re.compile(r"trial_\d+-seed\d+")


def claim(folder: Path) -> FileLock:
    """Create a folder for a search and lock it, as long as the returned lock exists.

    Raises:
        FileExistsError: If the folder contains files, but no search.
        NotADirectoryError: If there is a file in place of the folder.
        BlockingIOError: If another process searches there.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file: choose a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / SEARCH).exists():
        _check_empty(folder)
    path = folder / _LOCK
    try:
        lock = FileLock.on(path)
    except BlockingIOError:
        raise BlockingIOError(
            f"{folder} is in use by {_owner(path)}: wait for it, stop it (in a notebook, delete the `Search`), or "
            "choose another folder."
        ) from None
    with full_disk_named(path):
        lock.write(json.dumps(this_process()) + "\n")
    return lock


def start_anew(folder: Path, about: dict[str, Any]) -> None:
    """Write the settings of a new search into a locked folder, and delete what an earlier one has written.

    Other files stay. After an interruption at any moment, the folder is that of a search, and `is_half_cleared`.
    """
    (folder / _CLEARING).touch()
    write_json(folder / SEARCH, about)
    _clear(folder)
    (folder / _CLEARING).unlink()


def is_half_cleared(folder: Path) -> bool:
    """Whether `start_anew` was interrupted, and must be called again."""
    return (folder / _CLEARING).exists()


def check_complete(folder: Path) -> None:
    """Raise ValueError if a file is missing that keras-tuner needs to resume the search."""
    oracle = folder / ORACLE
    if oracle.exists():
        needed = [folder / f"trial_{name}" / "trial.json" for name in read_json(oracle)["start_order"]]
    else:  # as before the first trial
        needed = [oracle] if count_records(folder) or (folder / BEST_RECORD).exists() else []
    for path in needed:
        if not path.exists():
            raise ValueError(
                f"{path} is missing, and the search cannot continue without it: restore it, choose another folder, or "
                "overwrite the search (overwrite=True)."
            )


def _check_empty(folder: Path) -> None:
    """Check that a folder is empty, so that all of its later contents are those of the search."""
    names = sorted(path.name for path in folder.iterdir() if not _FIRST_NAMES.fullmatch(path.name))
    if names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        raise FileExistsError(
            f"{folder} is not the folder of a search and not empty: it contains {', '.join(names[:5])}{more}. Choose "
            "another folder."
        )


def _owner(path: Path) -> str:
    """The process that has locked a file, as it has written into it."""
    try:
        return name_of(read_json(path))
    except (OSError, ValueError):  # it has not written it yet
        return name_of({})


def _clear(folder: Path) -> None:
    logs = folder / TENSORBOARD
    for path in list(folder.iterdir()):
        if _OWN_NAMES.fullmatch(path.name):
            _delete(path)
    if logs.is_dir():
        for path in list(logs.iterdir()):
            if _OWN_LOGS.fullmatch(path.name):
                _delete(path)
        if not any(logs.iterdir()):
            _delete(logs)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
