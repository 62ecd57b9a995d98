"""Atomic file writes, and JSON files."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_slstm.errors import DataError

DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def complete_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file atomically, first under a temporary name: a crash never leaves half a file.

    Args:
        path: The file to write. Its folder is created.

    Yields:
        The temporary path to write to, in the same folder and with the same suffix.

    Raises:
        OSError: If the file cannot be written. If the disk is full, the message names the file and the space left.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not the number of the process, which may be the same in two containers.
    unfinished = path.with_name(f"unfinished-{secrets.randbelow(10**9)}-{path.name}")
    try:
        with full_disk_named(path):
            yield unfinished
            with open(unfinished, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextlib.contextmanager
def full_disk_named(path: Path) -> Iterator[None]:
    """If the disk is full, name the file in the error message and say what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_IS_FULL:
            raise
        free = shutil.disk_usage(path.parent).free / 1e6
        raise OSError(
            error.errno,
            f"{os.strerror(error.errno or 0)}: {path} could not be written, with {free:,.1f} MB free in its folder. "
            "Free some space (or raise the quota of this account) and start again",
        ) from None


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a JSON file atomically."""
    with complete_file(path) as unfinished:
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        unfinished.write_bytes(text.encode("utf-8", "backslashreplace"))  # JSON's escape of lone surrogates


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON file that holds an object.

    Raises:
        DataError: If it contains anything else. The message starts with file and line.
        OSError: If it cannot be read.
    """
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise DataError(path, error.lineno, f"invalid JSON at column {error.colno}: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise DataError(path, 1, f"invalid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise DataError(path, 1, "invalid JSON: nested too deeply") from None
    if not isinstance(value, dict):
        raise DataError(path, 1, f"expected a JSON object, but got {json_type(value)}")
    return value


def json_type(value: Any) -> str:
    """Return the JSON type of a value as messages name it: `null`, `a list` ..."""
    names = {type(None): "null", bool: "true or false", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")
