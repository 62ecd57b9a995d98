"""A run touches only its own files, and no other run can use its folder at the same time."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import numpy as np
import pytest

from keras_slstm.training.run_folder import RunFolder
from keras_slstm.training.training_run import TrainingRun

pytestmark = pytest.mark.short_run("torch")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    "files",
    [
        {"settings.json": "{}", "epoch-best.weights.h5": "mine", "notes.txt": "mine"},
        {"notes.txt": "mine"},
        {"epoch-0001.weights.h5": "mine"},
        {"model.keras": "mine"},
        {"progress.json": '{"epochs": 3}', "settings.json": "{}"},
        {"progress.json": "[]", "epoch-0001.weights.h5": "mine"},
        {"run.json": '{"run": "of somebody", "format": 1}'},
        {"run.json": "mine", "model.keras": "mine"},
    ],
)
def test_unrelated_files_are_named_and_not_touched(tmp_path, files, overwrite):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    with pytest.raises(
        FileExistsError, match=f"not the folder of a training run .* contains {', '.join(sorted(files))}\\. "
    ):
        TrainingRun(tmp_path, overwrite=overwrite)
    assert contents(tmp_path) == before


def test_many_unrelated_files_are_counted(tmp_path):
    for i in range(9):
        (tmp_path / f"{i}.txt").touch()
    with pytest.raises(FileExistsError, match=r"3.txt, 4.txt and 4 more\. "):
        TrainingRun(tmp_path)


def test_overwriting_deletes_the_files_of_the_run_only(tmp_path):
    TrainingRun(tmp_path, {"units": 3})
    others = ["epoch-best.weights.h5", "epoch-1.weights.h5", "unfinished-letter.txt", "model.keras.bak"]
    for name in others:
        (tmp_path / name).write_text("mine")
    for name in ["epoch-0001.weights.h5", "epoch-0002-step-000005.weights.h5", "unfinished-7-model.keras"]:
        (tmp_path / name).write_text("of the run")
    TrainingRun(tmp_path, {"units": 4}, overwrite=True)
    assert set(contents(tmp_path)) == {"run.json", "settings.json", *others}


def test_a_run_killed_at_its_start_starts_again(tmp_path):
    (tmp_path / "run.json").touch()
    run = TrainingRun(tmp_path, {"units": 3})
    assert TrainingRun(tmp_path, {"units": 4}).id != run.id  # nothing had been trained
    assert json.loads((tmp_path / "settings.json").read_text()) == {"units": 4}


def test_a_later_format_is_left_alone(tmp_path):
    TrainingRun(tmp_path)
    marker = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**marker, "format": 2}))
    before = contents(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(ValueError, match=r"run.json has format 2.*update keras_slstm"):
            TrainingRun(tmp_path, overwrite=overwrite)
    assert contents(tmp_path) == before


def test_nan_settings_are_equal(tmp_path):
    folder = RunFolder(tmp_path)
    (tmp_path / "settings.json").write_text('{"rate": NaN}')
    folder.check_settings({"rate": float("nan")})
    with pytest.raises(ValueError, match="rate=nan, not 1"):
        folder.check_settings({"rate": 1})


@pytest.mark.parametrize("name", ["settings.json", "progress.json"])
def test_damaged_files_raise_only_value_errors(tmp_path, name):
    """Cut anywhere, or with other bytes: one line with the file, and what to do."""
    folder, written = RunFolder(tmp_path), b'{\n "epochs": 1,\n "history": {"loss": [0.5]}\n}\n'
    rng = np.random.default_rng(0)
    for i in range(1500):
        damaged = bytearray(written[: rng.integers(len(written))] if i % 2 else written)
        for place in rng.integers(len(damaged) or 1, size=rng.integers(1, 4)):
            damaged[place : place + 1] = bytes([rng.integers(256)])
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(ValueError) as caught:
            folder.read_progress() if name == "progress.json" else folder.check_settings({"none": 1})
        text = str(caught.value)
        assert text.startswith(str(tmp_path))
        assert text.endswith("(overwrite=True).")
        assert "\n" not in text


@pytest.mark.skipif(sys.platform == "win32", reason="there is no lock there")
class TestLock:
    def _in_child(self, action):
        """Do something in a process that then waits; its number. A test must kill it."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                action()
                os.write(write, b"1")
                time.sleep(60)
            finally:
                os._exit(1)
        os.close(write)
        assert os.read(read, 1) == b"1"
        os.close(read)
        return child

    def _kill(self, child):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def test_another_process_is_named_until_it_is_killed(self, tmp_path):
        held = []
        child = self._in_child(lambda: held.append(TrainingRun(tmp_path, {"units": 3})))
        try:
            before = contents(tmp_path)
            for overwrite in (False, True):
                with pytest.raises(BlockingIOError, match=rf"in use by process {child} on {os.uname().nodename}"):
                    TrainingRun(tmp_path, {"units": 4}, overwrite=overwrite)
            assert contents(tmp_path) == before
        finally:
            self._kill(child)
        assert TrainingRun(tmp_path, {"units": 4}).epochs_done == 0

    def test_a_deleted_run_releases_its_folder(self, tmp_path):
        run = TrainingRun(tmp_path)
        again = TrainingRun(tmp_path)  # of the same process, which may have been interrupted
        del run, again
        self._kill(self._in_child(lambda: TrainingRun(tmp_path)))

    def test_a_forked_process_does_not_keep_the_lock(self, tmp_path):
        """For example, a data-loading worker that outlives the training."""
        run = TrainingRun(tmp_path)
        worker = self._in_child(lambda: None)
        try:
            del run
            self._kill(self._in_child(lambda: TrainingRun(tmp_path)))
        finally:
            self._kill(worker)

    def test_a_folder_deleted_during_a_run_is_locked_again(self, tmp_path):
        folder = tmp_path / "run"
        first = TrainingRun(folder)
        for path in folder.iterdir():
            path.unlink()
        second = TrainingRun(folder)
        assert second.id == RunFolder(folder).run_id != first.id
        child = os.fork()
        if not child:
            try:
                TrainingRun(folder)
            except BlockingIOError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
