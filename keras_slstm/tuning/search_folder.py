"""The folder of a search: whether a new search may use it, and which of its files overwriting deletes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from keras_slstm.tuning.records import BEST_MODEL, BEST_RECORD, CONFIRMATION, SEARCH

ORACLE = "oracle.json"
TENSORBOARD = "tensorboard"
_PICTURES = ("hyperparameters.png", "cost.png", "course.png", "figure2.png")  # of the report
_FILES = "|".join(map(re.escape, (BEST_MODEL, BEST_RECORD, CONFIRMATION, ORACLE, "report.html", *_PICTURES)))
# A process that is killed while it writes a file leaves its first part under such a name.
_UNFINISHED = r"unfinished-\d+-"
_UNFINISHED_SEARCH = re.compile(_UNFINISHED + re.escape(SEARCH))
_OWN_NAMES = re.compile(
    rf"({_UNFINISHED})?({_FILES})|{_UNFINISHED_SEARCH.pattern}|trial_\d+|confirmation-[0-9a-f]{{16}}"
)
_OWN_LOGS = re.compile(r"trial_\d+-seed\d+")


def check_owner(folder: Path) -> None:
    """Check that a folder without a search is empty, so that all of its later contents are those of the search.

    Raises:
        FileExistsError: If the folder is not empty.
        NotADirectoryError: If there is a file in place of the folder.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file: choose a folder.")
    paths = folder.iterdir() if folder.exists() else ()
    names = sorted(path.name for path in paths if not _UNFINISHED_SEARCH.fullmatch(path.name))
    if names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        raise FileExistsError(
            f"{folder} is not the folder of a search and not empty: it contains {', '.join(names[:5])}{more}. Choose "
            "another folder."
        )


def clear(folder: Path) -> None:
    """Delete what a search has written into its folder; other files stay.

    The settings stay as well, so that the folder remains that of a search until the settings of the next one replace
    them, even if this process is killed before.
    """
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
