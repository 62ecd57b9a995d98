"""Several processes use the folder of one corpus. As locks also exclude each other in one process, one is enough."""

from __future__ import annotations

import errno
import shutil
import weakref

import numpy as np
import pytest

from keras_slstm.file_lock import FileLock
from keras_slstm.streaming import PreparedCorpus, StreamedBatches, drafts, preparation, prepare_corpus, shard_folders
from keras_slstm.text import TextVectorizer
from tests.processes import run_python
from tests.streaming.test_preparation import LABELS, expected, small_blocks, stored, write

pytest.importorskip("array_record")
pytestmark = pytest.mark.backends("torch")  # no tensors
__all__ = ["small_blocks"]  # a fixture


@pytest.fixture
def prepare(tmp_path):
    """Prepare the same file in the same folder, with settings of a vectoriser."""
    path = write(tmp_path / "a.tsv")
    return lambda **options: prepare_corpus(path, tmp_path / "out", TextVectorizer(**options), overwrite=True)


def folders(tmp_path):
    return sorted(path.name for path in (tmp_path / "out").glob("shards-*"))


def before(monkeypatch, module, name, action):
    """Run an action before the first call of a function, as another process could."""
    whole, actions = getattr(module, name), [action]

    def replaced(*arguments, **options):
        if actions:
            actions.pop()()
        return whole(*arguments, **options)

    monkeypatch.setattr(module, name, replaced)


def test_a_corpus_is_kept_while_it_is_read(tmp_path, prepare):
    prepare()
    first = PreparedCorpus(tmp_path / "out")
    batches = StreamedBatches(first, 8)
    second = prepare(lowercase=False)
    assert len(batches[0][1]) == 8
    assert stored(first) == (expected()[1], LABELS)
    assert stored(second) == stored(PreparedCorpus(tmp_path / "out")) != stored(first)
    assert len(folders(tmp_path)) == 2
    del first, batches
    prepare(max_tokens=9)  # deletes the first corpus
    assert len(folders(tmp_path)) == 2
    del second
    prepare()
    assert len(folders(tmp_path)) == 1


def test_a_corpus_that_is_no_longer_used_is_released_at_once(prepare):
    corpus = weakref.ref(prepare())
    assert corpus() is None


@pytest.mark.short_run  # the process imports Keras
def test_a_corpus_is_kept_when_another_process_replaces_it(tmp_path, prepare):
    corpus = prepare()
    call = f"prepare_corpus({str(tmp_path / 'a.tsv')!r}, {str(tmp_path / 'out')!r}, max_words=9, overwrite=True)"
    done = run_python("-c", f"from keras_slstm.streaming import prepare_corpus; {call}")
    assert done.returncode == 0, done.stderr
    assert PreparedCorpus(tmp_path / "out").fingerprint != corpus.fingerprint
    assert stored(corpus) == (expected()[1], LABELS)


def test_two_preparations_at_the_same_time(tmp_path, prepare, monkeypatch):
    found = []
    before(monkeypatch, drafts, "write_chunks", lambda: found.append(prepare(lowercase=False)))
    first = prepare()
    assert stored(first) == (expected()[1], LABELS)
    assert stored(found[0]) == (expected(lowercase=False)[1], LABELS)
    assert PreparedCorpus(tmp_path / "out").fingerprint == first.fingerprint


@pytest.mark.filterwarnings("ignore:.*without locks")
def test_without_locks_only_a_complete_preparation_deletes_folders(tmp_path, prepare, monkeypatch):
    """They may belong to another preparation, which is still running."""
    other = tmp_path / "out" / "shards-00000001"
    other.mkdir(parents=True)
    (other / "draft-00000-000-00000.array_record.npz").touch()
    fcntl, kept = pytest.importorskip("fcntl"), []

    def no_locks(*arguments):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    before(monkeypatch, drafts, "write_chunks", lambda: kept.append(other.exists()))
    prepare()
    assert kept == [True]
    assert not other.exists()


def test_a_manifest_that_is_replaced_at_once(tmp_path, prepare, monkeypatch):
    def write_two(shards, manifest, write=preparation.write_manifest):
        write(shards, manifest)
        monkeypatch.undo()
        monkeypatch.setattr(drafts, "SHARD_BLOCKS", 3)
        prepare(lowercase=False)

    monkeypatch.setattr(preparation, "write_manifest", write_two)
    first = prepare()
    assert stored(first) == (expected()[1], LABELS)
    assert PreparedCorpus(tmp_path / "out").fingerprint != first.fingerprint


def test_a_corpus_that_is_replaced_while_it_is_opened(tmp_path, prepare, monkeypatch):
    prepare()
    before(monkeypatch, shard_folders, "lock_shards", lambda: prepare(lowercase=False) and None)
    assert stored(PreparedCorpus(tmp_path / "out")) == (expected(lowercase=False)[1], LABELS)


def test_a_folder_that_is_deleted_before_it_is_locked(tmp_path, prepare, monkeypatch):
    def delete():
        shard_folders.delete_unused(tmp_path / "out")
        assert folders(tmp_path) == []

    before(monkeypatch, FileLock, "on", delete)
    assert stored(prepare()) == (expected()[1], LABELS)
    assert len(folders(tmp_path)) == 1


def test_a_folder_that_is_deleted_while_it_is_locked(tmp_path, prepare, monkeypatch):
    whole = FileLock.on

    def lock_and_delete(path, shared):
        monkeypatch.undo()
        lock = whole(path, shared)
        shutil.rmtree(path.parent)
        return lock

    monkeypatch.setattr(FileLock, "on", lock_and_delete)
    assert stored(prepare()) == (expected()[1], LABELS)
    assert len(folders(tmp_path)) == 1


def test_interrupted_preparations_are_deleted_before_anything_is_written(tmp_path, prepare, monkeypatch):
    prepare()
    (current,) = folders(tmp_path)
    names = {"shards-00000001": "draft-00000-000-00000.array_record.npz", "shards-00000002": "unfinished-1-corpus.json"}
    for folder, name in names.items():
        (tmp_path / "out" / folder).mkdir()
        (tmp_path / "out" / folder / name).touch()
    running = tmp_path / "out" / "shards-00000003"
    running.mkdir()
    lock = FileLock.on(running / "lock", shared=True)
    found = []
    before(monkeypatch, np, "savez", lambda: found.extend(folders(tmp_path)))
    prepare(lowercase=False)
    assert len(found) == 3
    assert {current, running.name} < {*found}
    assert running.exists()
    del lock


def test_a_corpus_where_nothing_can_be_written(prepare, tmp_path, monkeypatch):
    prepare()

    def read_only(*arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(FileLock, "on", read_only)
    assert stored(PreparedCorpus(tmp_path / "out")) == (expected()[1], LABELS)
