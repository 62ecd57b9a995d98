"""Locks on files. The tests of folders of runs and shards also test them between processes."""

from __future__ import annotations

import copy
import gc
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


def test_an_error_is_reported_once(tmp_path, monkeypatch):
    others = []
    monkeypatch.setattr(sys, "unraisablehook", others.append)
    with pytest.raises(FileNotFoundError):
        FileLock.on(tmp_path / "missing" / "lock")
    gc.collect()
    assert not others
