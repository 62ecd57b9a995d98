"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def complete_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file under another name first: a crash leaves the old one, or none, but never half a one.

    Args:
        path: The file to write. Its folder is created.

    Yields:
        The path to write to: in the same folder, with the same ending.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"unfinished-{os.getpid()}-{path.name}")
    try:
        yield unfinished
        with open(unfinished, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a JSON file as a whole or not at all."""
    with complete_file(path) as unfinished:
        unfinished.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
