"""Searches in a folder that contains one: resumed after an interruption, or overwritten."""

import json
import shutil

import pytest

from keras_slstm.tuning import Search, read_trials
from keras_slstm.tuning import search as search_module
from keras_slstm.tuning.records import best_trial
from tests.tuning.conftest import draw, make_hypermodel, tiny_corpus

pytestmark = pytest.mark.backends("torch")  # processes start fastest with PyTorch


def test_resume_repeats_nothing(corpus, tmp_path, pretended):
    hypermodel = make_hypermodel(corpus, units=[2, 3, 4, 5])
    options = {"folder": tmp_path / "s", "tuner": "grid", "epochs": 1}
    Search(hypermodel, max_trials=2, **options).search()
    before = read_trials(tmp_path / "s")
    assert len(pretended) == 2
    Search(hypermodel, max_trials=2, resume=True, **options).search()
    assert len(pretended) == 2
    Search(hypermodel, max_trials=None, resume=True, **options).search()
    assert [training.values["units"] for training in pretended] == [2, 3, 4, 5]
    assert read_trials(tmp_path / "s")[:2] == before


@pytest.mark.parametrize("tuner", ["random", "bayesian", "hyperband"])
@pytest.mark.short_run
def test_an_interrupted_search_tries_the_same_values(corpus, tmp_path, pretended, tuner, monkeypatch):
    hypermodel = make_hypermodel(corpus, units=[2, 3, 4, 5, 6, 7, 8, 9])
    options = {"tuner": tuner, "max_trials": 5, "epochs": 2, "factor": 2}
    Search(hypermodel, tmp_path / "whole", **options).search()
    whole = [training.values for training in pretended]
    pretended.clear()

    class Crash(BaseException):
        pass

    def crash(self, trial):
        if trial.trial_id.endswith("2"):
            raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(Search, "_report", crash)
        with pytest.raises(Crash):
            Search(hypermodel, tmp_path / "parts", **options).search()
    assert len(pretended) == 3
    Search(hypermodel, tmp_path / "parts", resume=True, **options).search()
    assert [training.values for training in pretended] == whole


def test_an_interrupted_trial_starts_again(corpus, tmp_path, pretended, monkeypatch):
    class Crash(BaseException):
        pass

    def crash(training):
        raise Crash

    hypermodel = make_hypermodel(corpus, units=[2, 3])
    with monkeypatch.context() as patch:
        patch.setattr(search_module, "train_apart", crash)
        with pytest.raises(Crash):
            Search(hypermodel, tmp_path / "s", "grid", None, epochs=1).search()
    Search(hypermodel, tmp_path / "s", "grid", None, epochs=1, resume=True).search()
    assert [training.values["units"] for training in pretended] == [2, 3]


@pytest.mark.parametrize("lost", ["record.json", "values.json", None])  # before its end, by an earlier version
def test_the_results_of_a_forgotten_trial_do_not_count(corpus, tmp_path, pretended, lost):
    """A power cut can lose the oracle's file, but not those of the trial that it had begun."""
    Search(make_hypermodel(corpus, units=[3]), tmp_path / "other", "grid", 1, epochs=1).search()
    left = tmp_path / "s" / "trial_0"
    search = Search(make_hypermodel(corpus, units=[2]), tmp_path / "s", "grid", 1, epochs=1)
    shutil.copytree(tmp_path / "other" / "trial_0", left)
    if lost:
        (left / lost).unlink()
    search.search()
    assert [training.values["units"] for training in pretended] == [3, 2]
    (trial,) = read_trials(tmp_path / "s")
    assert trial["score"] == draw(sorted(pretended[1].values.items()), 0)


def test_a_crash_between_two_files(corpus, tmp_path, pretended):
    hypermodel = make_hypermodel(corpus, units=[2, 3, 4])
    folder = tmp_path / "s"
    Search(hypermodel, folder, "grid", 2, epochs=1).search()
    state = json.loads((folder / "oracle.json").read_text())
    state["ongoing_trials"] = {"tuner0": "1"}  # it had ended
    (folder / "oracle.json").write_text(json.dumps(state))
    unknown = json.loads((folder / "trial_1" / "trial.json").read_text())
    unknown.update(trial_id="2", status="RUNNING")
    (folder / "trial_2").mkdir()
    (folder / "trial_2" / "trial.json").write_text(json.dumps(unknown))
    (folder / "best.json").unlink()  # the model of the best trial was there already, its record was not
    Search(hypermodel, folder, "grid", 3, epochs=1, resume=True)
    best = max(read_trials(folder), key=lambda trial: trial["score"])
    (folder / f"trial_{best['trial']}" / "seed0" / "model.keras").write_bytes((folder / "best.keras").read_bytes())
    Search(hypermodel, folder, "grid", 3, epochs=1, resume=True).search()
    assert [training.values["units"] for training in pretended] == [2, 3, 4]
    assert best_trial(folder) == max(read_trials(folder), key=lambda trial: trial["score"])["trial"]


def test_overwriting_needs_a_flag(corpus, tmp_path, pretended):
    hypermodel = make_hypermodel(corpus)
    Search(hypermodel, tmp_path / "s", max_trials=1, epochs=1).search()
    with pytest.raises(FileExistsError, match=r"contains a search.*resume=True.*overwrite=True"):
        Search(hypermodel, tmp_path / "s", max_trials=1, epochs=1)
    for wrong, message in (
        ({"epochs": 2}, "its epochs is 1, not 2"),
        ({"tuner": "grid"}, "its tuner is 'random', not 'grid'"),
        ({"hypermodel": make_hypermodel(corpus, units=[5])}, r"its hypermodel space is .*4.*, not .*5"),
    ):
        with pytest.raises(ValueError, match=message):
            Search(**{"hypermodel": hypermodel, "max_trials": 1, "epochs": 1, "resume": True, **wrong}, folder=tmp_path / "s")  # fmt: skip  # noqa: E501
    other = tiny_corpus()
    other.train.labels[0] = "joy"
    with pytest.raises(ValueError, match=r"its hypermodel data is '\w+', not '\w+'\."):
        Search(make_hypermodel(other), tmp_path / "s", max_trials=1, epochs=1, resume=True)
    with pytest.raises(ValueError, match="not both"):
        Search(hypermodel, tmp_path / "s", resume=True, overwrite=True)
    Search(hypermodel, tmp_path / "s", max_trials=1, epochs=1, overwrite=True).search()
    assert len(pretended) == 2


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_with_other_files_is_refused(corpus, tmp_path, overwrite):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"not the folder of a search and not empty: it contains notes\.txt\."):
        Search(make_hypermodel(corpus), tmp_path, max_trials=1, overwrite=overwrite)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(NotADirectoryError, match=r"notes\.txt is a file: choose a folder"):
        Search(make_hypermodel(corpus), tmp_path / "notes.txt", max_trials=1)


def test_overwriting_deletes_only_the_files_of_the_search(corpus, tmp_path, pretended):
    Search(make_hypermodel(corpus), tmp_path, max_trials=1, epochs=1).search()
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"best.json", "best.keras", "oracle.json", "search.json", "search.lock", "trial_0"}
    others = ["notes.txt", "trial_notes/a.txt", "best_ideas.json", "confirmation-of-mine/b.txt", "tensorboard/mine/c"]
    own = ["confirmation.json", "confirmation-0123456789abcdef/best/d", "unfinished-7-best.keras", "report.html",
           "tensorboard/trial_0-seed0/events", "cost.png"]  # fmt: skip
    for name in (*others, *own):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    Search(make_hypermodel(corpus), tmp_path, max_trials=1, epochs=1, overwrite=True)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left - {"oracle.json"} == {*others, "search.json", "search.lock"}
