"""Locks on files. The tests of folders of runs and shards also test them between processes."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys

import pytest

from keras_slstm.file_lock import FileLock

pytestmark = [
    pytest.mark.backends("torch"),  # uses no tensors
    pytest.mark.skipif(sys.platform == "win32", reason="no locks"),
]


def test_a_shared_lock_excludes_only_an_exclusive_one(tmp_path):
    path = tmp_path / "lock"
    shared = FileLock.on(path, shared=True)
    assert FileLock.on(path, shared=True) is shared
    with pytest.raises(BlockingIOError):
        FileLock.on(path)
    del shared
    exclusive = FileLock.on(path)
    with pytest.raises(BlockingIOError):
        FileLock.on(path, shared=True)
    assert FileLock.on(path) is exclusive


def test_a_copy_is_the_same_lock(tmp_path):
    lock = FileLock.on(tmp_path / "lock")
    other = copy.deepcopy({"lock": lock})
    del lock
    gc.collect()
    assert other["lock"] is FileLock.on(tmp_path / "lock")


def test_a_reader_without_write_permission_has_a_lock(tmp_path, monkeypatch):
    path, open_file = tmp_path / "lock", os.open
    path.touch()

    def only_read(path, flags, *mode):
        if flags & os.O_RDWR:
            raise PermissionError(path)
        return open_file(path, flags, *mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", only_read)
        lock = FileLock.on(path, shared=True)
        with pytest.raises(PermissionError):
            FileLock.on(path)
    with pytest.raises(BlockingIOError):
        FileLock.on(path)
    del lock
    FileLock.on(path)


def test_a_lock_cannot_be_pickled(tmp_path):
    with pytest.raises(TypeError, match="belongs to its process"):
        pickle.dumps(FileLock.on(tmp_path / "lock"))


def test_an_error_is_reported_once(tmp_path, monkeypatch):
    others = []
    monkeypatch.setattr(sys, "unraisablehook", others.append)
    with pytest.raises(FileNotFoundError):
        FileLock.on(tmp_path / "missing" / "lock")
    gc.collect()
    assert not others
