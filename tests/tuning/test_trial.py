"""Trainings that fail, and trainings that stop through no fault of their own."""

import errno
import json

import pytest

from keras_slstm.tuning import ClassificationHyperModel, Search, read_trials
from keras_slstm.tuning import search as search_module
from keras_slstm.tuning import trial as trial_module
from tests.tuning.conftest import TINY

pytestmark = pytest.mark.backends("torch")  # does not depend on the backend


class Stops(ClassificationHyperModel):
    """With three units, building the model raises the error in the attribute `error`."""

    error = None

    def build(self, hp):
        if self.error is not None and self.settings(hp)["units"] == 3:
            raise self.error
        return super().build(hp)


class WithoutScore(ClassificationHyperModel):
    """With three units, the objective is not finite in any epoch."""

    def fit_options(self, hp, model, seed=0):
        options = super().fit_options(hp, model, seed)
        if self.settings(hp)["units"] == 3:
            spoil = trial_module.keras.callbacks.LambdaCallback(
                on_epoch_end=lambda epoch, logs: logs.update(val_accuracy=float("nan"))
            )
            options["callbacks"] = [*options.get("callbacks", ()), spoil]
        return options


def make_search(corpus, folder, cls=Stops, units=(3, 4), **options):
    hypermodel = cls(corpus, ["cnn"], values={**TINY, "units": list(units)}, only=True)
    return Search(hypermodel, folder, "grid", None, epochs=1, **options)


def hidden(error):
    """An error that was raised while another one was handled."""
    outer = RuntimeError("Can't decrement id ref count")
    outer.__context__ = error
    return outer


FULL = r"trial_0000/seed0 has stopped: No space left on device\. Free some space .*, without overwrite=True"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), r"has stopped: Disk quota exceeded\. Free some space"),
        (OSError(errno.EFBIG, "File too large"), r"has stopped: File too large\. Free some space"),
        (hidden(OSError(errno.ENOSPC, "No space left on device")), FULL),
        (BlockingIOError("run is in use by process 7"), "has stopped: run is in use by process 7"),
    ],
)
def test_what_is_no_fault_of_the_trial_stops_the_search(corpus, tmp_path, in_process, monkeypatch, error, message):
    monkeypatch.setattr(Stops, "error", error)
    with pytest.raises(OSError, match=message):
        make_search(corpus, tmp_path).search()
    assert not read_trials(tmp_path)
    monkeypatch.setattr(Stops, "error", None)
    make_search(corpus, tmp_path, resume=True).search()
    assert [(trial["values"]["units"], "score" in trial) for trial in read_trials(tmp_path)] == [(3, True), (4, True)]


def test_a_disk_too_full_for_the_reason_of_a_failure(corpus, tmp_path, in_process, monkeypatch):
    def full(path, value):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Stops, "error", ValueError("too small"))
    monkeypatch.setattr(trial_module, "write_json", full)
    with pytest.raises(OSError, match=r"seed0 has stopped: no file can be written there\. Free some space"):
        make_search(corpus, tmp_path).search()
    assert not read_trials(tmp_path)


def test_a_disk_too_full_for_the_record(corpus, tmp_path, pretended, monkeypatch):
    def full(folder, record):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(search_module, "write_record", full)
        with pytest.raises(OSError, match="No space left on device"):
            make_search(corpus, tmp_path).search()
    make_search(corpus, tmp_path, resume=True).search()
    assert len(read_trials(tmp_path)) == len(pretended) == 2  # the first training had ended


def test_a_disk_too_full_to_continue_an_earlier_trial(corpus, tmp_path, in_process, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    hypermodel = Stops(corpus, ["cnn"], values={**TINY, "units": [2, 3, 4, 5]}, only=True)
    options = {"folder": tmp_path, "tuner": "hyperband", "max_trials": None, "epochs": 2, "factor": 2}
    with monkeypatch.context() as patch:
        patch.setattr(trial_module.shutil, "copy2", full)
        with pytest.raises(OSError, match=r"has stopped: No space left on device\."):
            Search(hypermodel, **options).search()
    Search(hypermodel, resume=True, **options).search()
    assert all("score" in trial for trial in read_trials(tmp_path))


def test_a_score_that_is_not_finite_is_a_failure(corpus, tmp_path, in_process, capsys):
    make_search(corpus, tmp_path, WithoutScore).search()
    first, second = read_trials(tmp_path)
    assert first["failure"] == "val_accuracy is not finite in any epoch"
    assert json.loads((tmp_path / "best.json").read_text()) == second
    captured = capsys.readouterr()
    assert "trial 0000, 1 ended: failed: val_accuracy is not finite in any epoch" in captured.out
    assert "Traceback" not in captured.err
