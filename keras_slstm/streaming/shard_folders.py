"""Folders of shards, which several processes may write and read in the folder of one corpus.

Those who write or read shards hold a shared lock on their folder. A folder that the manifest does not name, because a
newer corpus has replaced it or its preparation was interrupted, is deleted by the next preparation that finds its lock
free. Where the system has no locks, only a complete preparation deletes folders.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_slstm.file_lock import FileLock
from keras_slstm.files import full_disk_named, read_json, write_json

MANIFEST = "corpus.json"  # written last: a folder without it contains no corpus
_LOCK = "lock"  # the locked file of a folder of shards
_OWN_FOLDER = re.compile(r"shards-[0-9a-f]{8}")
_OWN_FILE = re.compile(rf"{_LOCK}|(unfinished-\d+-)?(corpus\.json|(draft-)?\d+-\d+-\d+\.array_record(\.npz)?)")


def check_owner(folder: Path) -> None:
    """Raise FileExistsError if a folder contains anything but a prepared corpus."""
    other = [path.name for path in _files(folder) if path.name != MANIFEST and not _is_own(path)]
    if other:
        raise FileExistsError(
            f"{folder} contains files that do not belong to a prepared corpus: {', '.join(other[:5])}. Use another "
            "folder."
        )


@contextlib.contextmanager
def new_shards(folder: Path) -> Iterator[Path]:
    """Yield a new folder of shards. At the end, it is deleted unless `write_manifest` has made it the current one.

    At the start and at the end, all folders of shards that nobody needs any more are deleted.
    """
    delete_unused(folder)  # first, because interrupted preparations may fill the disk
    shards, lock = _create(folder)
    try:
        yield shards
    finally:
        del lock
        delete_unused(folder, without_locks=True)


def write_manifest(shards: Path, manifest: dict[str, Any]) -> None:
    """Make a folder of shards the current one of its corpus."""
    write_json(shards / MANIFEST, manifest)  # here, so that an interruption leaves no other file in the corpus folder
    os.replace(shards / MANIFEST, shards.parent / MANIFEST)


def open_manifest(folder: Path) -> tuple[dict[str, Any], FileLock | None]:
    """Read the manifest of a corpus, and lock the shards that it names; see `lock_shards`.

    Raises:
        DataError, LookupError, TypeError: If the manifest is damaged.
    """
    while True:
        manifest = read_json(folder / MANIFEST)
        with contextlib.suppress(BlockingIOError):  # another process decides whether to delete them
            lock = lock_shards(folder, manifest)
            if read_json(folder / MANIFEST) == manifest:  # they were not deleted before they were locked
                return manifest, lock


def lock_shards(folder: Path, manifest: dict[str, Any]) -> FileLock | None:
    """Protect the shards that a manifest names from deletion while the result lives.

    None if they cannot be locked: a corpus of an older version has no lock, and its disk may allow only reading.

    Raises:
        BlockingIOError: If another process decides whether to delete them.
    """
    try:
        return FileLock.on(folder / str(manifest["shards"][0]).split("/")[0] / _LOCK, shared=True)
    except BlockingIOError:
        raise
    except OSError:
        return None


def delete_unused(folder: Path, without_locks: bool = False) -> None:
    """Delete the folders of shards that the manifest does not name and nobody has locked.

    If the system has no locks, folders are deleted only with `without_locks`.
    """
    for path in _files(folder):
        if not _is_own(path):
            continue
        try:
            lock = FileLock.on(path / _LOCK)
        except OSError:  # in use, of another user, or just deleted by another process
            continue
        # Asked with the lock, because only those who write a folder can change the answer.
        unused = not _is_named(path) and (lock.works or without_locks)
        if not lock.works:
            del lock  # Windows does not delete open files
        if unused:
            shutil.rmtree(path, ignore_errors=True)  # the next preparation deletes what cannot be deleted now


def _create(folder: Path) -> tuple[Path, FileLock]:
    """Create and lock a folder of shards."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        shards = folder / f"shards-{uuid.uuid4().hex[:8]}"
        with full_disk_named(shards):
            shards.mkdir()
            # Until it is locked, another process may take it for an interrupted preparation and delete it.
            with contextlib.suppress(BlockingIOError, FileNotFoundError):
                lock = FileLock.on(shards / _LOCK, shared=True)
                if (shards / _LOCK).exists():
                    return shards, lock


def _files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def _is_own(path: Path) -> bool:
    """Whether a path is a folder of shards, possibly one that another process deletes at this moment."""
    if not _OWN_FOLDER.fullmatch(path.name):
        return False
    try:
        return all(_OWN_FILE.fullmatch(file.name) for file in path.iterdir())
    except FileNotFoundError:
        return True


def _is_named(shards: Path) -> bool:
    """Whether the manifest names a folder of shards. Of a damaged manifest, what is left of its text counts."""
    manifest = shards.parent / MANIFEST
    return manifest.is_file() and shards.name.encode() in manifest.read_bytes()
