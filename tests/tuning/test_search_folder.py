"""The folder of a search: one process at a time, and interruptions while it is overwritten."""

import contextlib
import gc
import json
import os
import shutil
import socket

import pytest

from keras_slstm.tuning import ClassificationHyperModel, Search, read_trials, search_folder
from tests.tuning.conftest import TINY

fcntl = pytest.importorskip("fcntl", reason="Windows has no such locks")
pytestmark = pytest.mark.backends("torch")  # trains nothing


def make_search(corpus, folder, units=(2, 3), **options):
    hypermodel = ClassificationHyperModel(corpus, ["cnn"], values={**TINY, "units": list(units)}, only=True)
    return Search(hypermodel, folder, "grid", None, **{"epochs": 1, **options})


@contextlib.contextmanager
def held(folder):
    """Lock a folder as another process does."""
    gc.collect()  # locks of earlier searches in this process
    with open(folder / "search.lock", "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# One process at a time.


def test_a_second_search_in_the_folder_is_refused(corpus, tmp_path, pretended):
    make_search(corpus, tmp_path / "s").search()
    before = contents(tmp_path / "s")
    owner = f"s is in use by process {os.getpid()} on {socket.gethostname()}: wait for it, stop it "
    with held(tmp_path / "s"):
        for options in ({"resume": True}, {"overwrite": True}, {}):
            with pytest.raises(BlockingIOError, match=owner):
                make_search(corpus, tmp_path / "s", **options)
        assert contents(tmp_path / "s") == before
        assert len(read_trials(tmp_path / "s")) == 2
    make_search(corpus, tmp_path / "s", resume=True).search()
    assert len(pretended) == 2


def test_an_owner_that_has_not_written_its_number_yet(corpus, tmp_path):
    (tmp_path / "search.lock").touch()
    with held(tmp_path), pytest.raises(BlockingIOError, match="in use by another process: wait"):
        make_search(corpus, tmp_path)


def test_a_search_locks_its_folder_as_long_as_it_exists(corpus, tmp_path, pretended):
    search = make_search(corpus, tmp_path)
    with pytest.raises(BlockingIOError), held(tmp_path):
        pass
    search.search()
    with pytest.raises(BlockingIOError), held(tmp_path):  # `confirm` may follow
        pass
    del search
    with held(tmp_path):
        pass


def test_a_refused_search_does_not_keep_the_lock(corpus, tmp_path):
    make_search(corpus, tmp_path)
    with pytest.raises(FileExistsError, match="contains a search") as refused:
        make_search(corpus, tmp_path)
    with held(tmp_path):
        assert refused.value.__traceback__  # alive, as the last error in a notebook


def test_the_workers_share_the_folder_of_the_chief(corpus, tmp_path, monkeypatch):
    make_search(corpus, tmp_path)
    monkeypatch.setenv("KERASTUNER_TUNER_ID", "tuner0")
    with held(tmp_path):
        make_search(corpus, tmp_path, resume=True)


def test_overwriting_keeps_the_lock(corpus, tmp_path):
    make_search(corpus, tmp_path)
    search = make_search(corpus, tmp_path, overwrite=True)
    with pytest.raises(BlockingIOError), held(tmp_path):
        pass
    assert search.folder == tmp_path


def test_a_process_that_was_killed_at_the_start_leaves_a_folder_for_a_search(corpus, tmp_path):
    for name in ("search.lock", "search.clearing", "unfinished-7-search.json"):
        (tmp_path / name).touch()
    make_search(corpus, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"search.json"}
    assert not (tmp_path / "search.clearing").exists()


# Interrupted while it is overwritten.


@pytest.mark.parametrize("step", range(6))
def test_overwriting_can_be_interrupted(corpus, tmp_path, pretended, monkeypatch, step):
    make_search(corpus, tmp_path, units=[2, 3, 4]).search()
    delete, write_json, steps = search_folder._delete, search_folder.write_json, []

    def interrupted(real):
        def act(*arguments):
            if len(steps) == step:
                raise KeyboardInterrupt
            steps.append(arguments)
            real(*arguments)

        return act

    with monkeypatch.context() as patch:
        patch.setattr(search_folder, "write_json", interrupted(write_json))
        patch.setattr(search_folder, "_delete", interrupted(delete))
        with pytest.raises(KeyboardInterrupt):
            make_search(corpus, tmp_path, units=[5, 6], epochs=2, overwrite=True)
    with pytest.raises(FileExistsError, match="contains a search"):
        make_search(corpus, tmp_path, units=[5, 6], epochs=2)
    make_search(corpus, tmp_path, units=[5, 6], epochs=2, resume=True).search()
    trials = read_trials(tmp_path)
    assert [trial["values"]["units"] for trial in trials] == [5, 6]
    assert json.loads((tmp_path / "best.json").read_text()) == max(trials, key=lambda trial: trial["score"])
    make_search(corpus, tmp_path, units=[5, 6], epochs=2, resume=True).search()
    assert len(pretended) == 3 + 2


# Files that somebody has deleted.


@pytest.mark.parametrize("name", ["trial_0000", "oracle.json"])
def test_a_missing_file_is_named(corpus, tmp_path, pretended, name):
    make_search(corpus, tmp_path).search()
    path = tmp_path / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    with pytest.raises(ValueError, match=rf"{name}.* is missing.*: restore it.*\(overwrite=True\)\.$"):
        make_search(corpus, tmp_path, resume=True)
    assert (tmp_path / "best.keras").exists()
    make_search(corpus, tmp_path, overwrite=True).search()
    assert len(read_trials(tmp_path)) == 2


def test_a_record_of_other_values_is_not_used(corpus, tmp_path, pretended):
    make_search(corpus, tmp_path / "other", units=[7]).search()
    search = make_search(corpus, tmp_path / "s", units=[2])
    shutil.copytree(tmp_path / "other" / "trial_0000", tmp_path / "s" / "trial_0000")
    search.search()
    assert [training.values["units"] for training in pretended] == [7, 2]
    (trial,) = read_trials(tmp_path / "s")
    assert trial["values"]["units"] == trial["settings"]["units"] == 2
