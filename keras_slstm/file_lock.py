"""Locks on files, which let one process write, or several read."""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

if sys.platform != "win32":
    import fcntl

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class FileLock:
    """A lock on a file, which the operating system releases when the process ends.

    An exclusive lock excludes all others, a shared lock only exclusive ones. All users of a kind of lock in one process
    share it, and the last of them releases it.

    Attributes:
        works: Whether the system has locks. Windows and some file systems have none; then nothing is excluded.
    """

    _held: ClassVar[weakref.WeakValueDictionary[tuple[str, bool], FileLock]] = weakref.WeakValueDictionary()

    _file: int | None = None

    def __init__(self, path: Path, shared: bool):
        self.works = False
        self._file = _open(path, shared)
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                self._close()
                raise
            warnings.warn(f"{path} is on a file system without locks: use it in one process at a time.", stacklevel=2)
        else:
            self.works = True

    @classmethod
    def on(cls, path: Path, shared: bool = False) -> FileLock:
        """The lock on a file, which is created if needed; BlockingIOError if a lock of another process excludes it."""
        key = os.path.realpath(path), shared
        lock = cls._held.get(key)
        if lock is None or not lock._is_on(path):
            lock = cls._held[key] = cls(path, shared)
        return lock

    def write(self, text: str) -> None:
        """Replace the contents of the file. The first line is complete even if the process is killed."""
        assert self._file is not None
        os.lseek(self._file, 0, os.SEEK_SET)
        os.ftruncate(self._file, os.write(self._file, text.encode()))

    def __deepcopy__(self, memo: object) -> FileLock:
        return self  # a copy would close the file twice

    def __reduce__(self) -> str:
        raise TypeError("A lock belongs to its process: it cannot be pickled.")

    def _is_on(self, path: Path) -> bool:
        """Whether the path still refers to the locked file."""
        return self._file is not None and path.exists() and os.path.samestat(os.fstat(self._file), path.stat())

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    __del__ = _close

    @classmethod
    def _forget(cls) -> None:
        """Drop inherited locks: a forked child would otherwise hold its parent's locks as long as it lives."""
        for lock in list(cls._held.values()):
            lock._close()


def this_process() -> dict[str, Any]:
    """The host and number of this process, for a file that tells others who holds a lock."""
    return {"host": socket.gethostname(), "pid": os.getpid()}


def name_of(process: Mapping[str, Any]) -> str:
    """The process that `this_process` described, for messages."""
    known = {"pid", "host"} <= set(process)
    return f"process {process['pid']} on {process['host']}" if known else "another process"


def _open(path: Path, shared: bool) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # perhaps a file of another user, or on a disk that can only be read
        if not shared or not path.exists():
            raise
        return os.open(path, os.O_RDONLY)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=FileLock._forget)
