"""The folder of a training run: its files, and a lock that lets one process write."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from keras_slstm.file_lock import FileLock, name_of, this_process
from keras_slstm.files import full_disk_named, read_json
from keras_slstm.training.progress import Progress, read_progress

FORMAT = 1
_WRITTEN_BY = "keras_slstm.training.TrainingRun"
_WEIGHTS = re.compile(r"epoch-\d{4,}(-step-\d{6,})?\.weights\.h5|unfinished-\d+-.+")
_OWN_NAMES = re.compile(rf"settings\.json|progress\.json|model\.keras|{_WEIGHTS.pattern}")


class RunFolder:
    """The files of one training run.

    The file `run.json` marks the folder as that of a run, and names its format and the process that writes there. A
    folder without it is accepted only if it is empty, or contains a complete `progress.json` of a version that did not
    write `run.json`.

    Args:
        path: The folder. `claim` creates it.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self.settings = self.path / "settings.json"
        self.progress = self.path / "progress.json"
        self.model = self.path / "model.keras"
        self.marker = self.path / "run.json"
        self._lock: FileLock | None = None

    def claim(self) -> None:
        """Lock the folder for this process, until `release` or the end of the process.

        Raises:
            FileExistsError: If the folder contains files that do not belong to a run.
            NotADirectoryError: If there is a file in place of the folder.
            BlockingIOError: If another process has locked it.
            ValueError: If a newer version wrote it.
        """
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} is a file: choose a folder.")
        self.path.mkdir(parents=True, exist_ok=True)
        self._check_owner()
        try:
            self._lock = FileLock.on(self.marker)
        except BlockingIOError:
            raise self._in_use() from None
        self._write_marker(self.run_id or uuid.uuid4().hex)

    def release(self) -> None:
        """Allow other processes to write to the folder."""
        self._lock = None

    def clear(self) -> None:
        """Delete the files of the run, and start a new one in the folder. Other files stay."""
        self._delete(_OWN_NAMES)
        self._write_marker(uuid.uuid4().hex)

    @property
    def run_id(self) -> str | None:
        """The id of the run; None if there is no run."""
        marker = self._read_marker()
        return None if marker is None else str(marker["run"])

    def is_finished(self) -> bool:
        """Whether the folder contains a finished run.

        Raises:
            ValueError: If its `progress.json` is damaged.
        """
        if not self.model.exists():
            return False
        return self.read_progress().finished if self.progress.exists() else self.run_id is not None

    def read_progress(self) -> Progress:
        """Read the progress of the run.

        Raises:
            ValueError: If the file is missing or damaged.
        """
        values = self._read(self.progress)
        # Versions without `run.json` finished a run by writing its model.
        values.setdefault("finished", self.model.exists())
        try:
            return read_progress(values)
        except ValueError as error:
            raise _damaged(f"{self.progress}: {error}") from None

    def check_settings(self, settings: dict[str, Any]) -> None:
        """Raise ValueError if the settings of the run in this folder differ, or are missing or damaged."""
        before = self._read(self.settings)
        for name in sorted({*before, *settings}):
            old, new = before.get(name), settings.get(name)
            if json.dumps(old, sort_keys=True) != json.dumps(
                new, sort_keys=True
            ):  # as text, because NaN does not equal itself
                raise ValueError(
                    f"{self.path} contains an interrupted run with {name}={old!r}, not {new!r}: use its settings, "
                    "choose another folder, or overwrite it (overwrite=True)."
                )

    def weights(self, epoch: int, step: int = 0) -> Path:
        """The file with the state after this number of epochs, and of steps in the next one."""
        return self.path / (f"epoch-{epoch:04d}" + (f"-step-{step:06d}" if step else "") + ".weights.h5")

    def drop_weights(self, needed: Iterable[Path] = ()) -> None:
        """Delete all weights that are not needed, and half-written files left by a crash."""
        self._delete(_WEIGHTS, set(needed))

    def _delete(self, names: re.Pattern[str], needed: Collection[Path] = ()) -> None:
        for path in list(self.path.iterdir()):
            if names.fullmatch(path.name) and path not in needed:
                path.unlink()

    def _check_owner(self) -> None:
        if self.run_id is not None:
            return
        # A process that is killed while it creates the marker leaves an empty one.
        names = sorted(p.name for p in self.path.iterdir() if p != self.marker or p.stat().st_size)
        if not names:
            return
        try:
            if self.marker.name in names:
                raise ValueError("not the marker of a run")
            self.read_progress()
        except ValueError:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            raise FileExistsError(
                f"{self.path} is not the folder of a training run and not empty: it contains "
                f"{', '.join(names[:5])}{more}. Choose another folder."
            ) from None

    def _read_marker(self) -> dict[str, Any] | None:
        """The contents of `run.json`; None if the file is missing, or not the marker of a run."""
        try:
            with open(self.marker, encoding="utf-8") as file:
                marker = json.loads(file.readline())  # only the first line counts
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        if not isinstance(marker, dict) or marker.get("written_by") != _WRITTEN_BY or "run" not in marker:
            return None
        if marker.get("format") != FORMAT:
            raise ValueError(
                f"{self.marker} has format {marker.get('format')}, but this version of keras_slstm only supports "
                f"format {FORMAT}: update keras_slstm, or choose another folder."
            )
        return marker

    def _write_marker(self, run_id: str) -> None:
        assert self._lock is not None
        marker = {"written_by": _WRITTEN_BY, "format": FORMAT, "run": run_id, **this_process()}
        with full_disk_named(self.marker):
            self._lock.write(json.dumps(marker) + "\n")

    def _in_use(self) -> BlockingIOError:
        owner = name_of(self._read_marker() or {})
        return BlockingIOError(f"{self.path} is in use by {owner}: wait for it, stop it, or choose another folder.")

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            return read_json(path)
        except (OSError, ValueError) as error:
            raise _damaged(str(error)) from None


def _damaged(problem: str) -> ValueError:
    return ValueError(
        f"{problem}. The interrupted run cannot continue with a missing or damaged file: choose another folder, or "
        "overwrite it (overwrite=True)."
    )
