import json
import os
import pickle
import signal
import statistics

import keras
import keras_tuner
import numpy as np
import pytest

from keras_slstm.tuning import ClassificationHyperModel, Search, read_search, read_trials
from keras_slstm.tuning import search as search_module
from keras_slstm.tuning.oracles import make_oracle
from keras_slstm.tuning.records import best_trial, keep_best
from tests.backend import BACKEND
from tests.tuning.conftest import TINY, make_hypermodel, tiny_corpus

pytestmark = pytest.mark.backends("torch")  # processes start fastest with PyTorch


class Fails(ClassificationHyperModel):
    """Where the word dropout is 0.1 or more, no model can be built; where it is 0.05, the loss is not finite."""

    def build(self, hp):
        settings = self.settings(hp)
        if settings["word_dropout"] >= 0.1:
            raise MemoryError("too large\nfor this machine")
        model = super().build(hp)
        if settings["word_dropout"] == 0.05:
            model.embedding.embeddings.assign(np.full(model.embedding.embeddings.shape, np.nan))
        return model


class EndedBySystem(ClassificationHyperModel):
    """With three units, the system ends the process, as it does when memory runs out."""

    def build(self, hp):
        if self.settings(hp)["units"] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().build(hp)


def models_left(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.keras"))


@pytest.mark.parametrize("encoder", ["slstm", "full_depth_grn", "cnn"])
@pytest.mark.parametrize(("optimizer", "attribute"), [("adam", "recurrent_multiplier"), ("muon", "rms_rate")])
def test_optimizer_and_multiplier_reach_encoders_that_they_concern(corpus, encoder, optimizer, attribute):
    chosen = {} if encoder == "cnn" else {"optimizer": [optimizer], "recurrent_multiplier": [8.0]}
    values = {**TINY, "encoder": [encoder], **chosen}
    model = ClassificationHyperModel(corpus, [encoder], values=values).build(keras_tuner.HyperParameters())
    assert getattr(model.optimizer, attribute, None) == (8.0 if chosen else None)


# A search from beginning to end.


@pytest.mark.parametrize("tuner", ["random", "bayesian", "grid"])
def test_every_tuner_begins_with_the_defaults_and_tries_nothing_twice(corpus, tmp_path, pretended, tuner):
    hypermodel = make_hypermodel(corpus, units=[2, 4, 8], word_dropout=[0.0, 0.1])
    Search(hypermodel, tmp_path / "s", tuner, max_trials=5, epochs=2).search()
    trials = read_trials(tmp_path / "s")
    assert len(trials) == 5
    assert len({str(trial["values"]) for trial in trials}) == 5
    assert trials[0]["settings"] == hypermodel.settings(keras_tuner.HyperParameters())
    best = max(trials, key=lambda trial: trial["score"])
    assert json.loads((tmp_path / "s" / "best.json").read_text()) == best


def test_search(corpus, tmp_path, in_process, capsys):
    hypermodel = make_hypermodel(corpus, units=[2, 4, 8])
    Search(hypermodel, tmp_path / "s", "random", max_trials=3, epochs=2).search()
    trials = read_trials(tmp_path / "s")
    assert len(trials) == 3
    for trial in trials:
        assert trial["settings"]["units"] == trial["values"]["units"]
        run = trial["runs"]["seed0"]
        assert trial["score"] == run["score"] == max(run["history"]["val_accuracy"])
        assert trial["epochs"] == len(run["history"]["loss"]) == 2
        assert trial["seconds_per_epoch"] > 0
    best = max(trials, key=lambda trial: trial["score"])
    assert json.loads((tmp_path / "s" / "best.json").read_text()) == best
    assert models_left(tmp_path / "s") == ["best.keras"]
    model = keras.saving.load_model(tmp_path / "s" / "best.keras")
    accuracy = np.mean([a == b for a, b in zip(model.classify(corpus.validation.texts), corpus.validation.labels)])
    assert accuracy == pytest.approx(best["score"])
    assert model.count_params() == best["parameters"]
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_trials_are_trained_with_their_values(corpus, tmp_path, in_process):
    Search(make_hypermodel(corpus, units=[2, 5]), tmp_path / "s", "grid", None, epochs=1, seeds=[3, 4]).search()
    trials = read_trials(tmp_path / "s")
    assert [trial["values"]["units"] for trial in trials] == [2, 5]
    assert len({trial["parameters"] for trial in trials}) == 2
    assert [(t.values["units"], t.seed) for t in in_process] == [(2, 3), (2, 4), (5, 3), (5, 4)]
    for trial in trials:
        scores = {name: run["score"] for name, run in trial["runs"].items()}
        assert trial["score"] == pytest.approx(statistics.fmean(scores.values()))
        assert scores[trial["best_run"]] == max(scores.values())
        histories = [run["history"]["loss"] for run in trial["runs"].values()]
        assert histories[0] != histories[1]


def test_seeds_make_a_search_repeatable(corpus, tmp_path, pretended):
    hypermodel = ClassificationHyperModel(corpus, ["cnn"], values={**TINY, "units": [2, 3, 4, 5, 6, 7, 8]})
    found = {}
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        Search(hypermodel, tmp_path / name, max_trials=3, epochs=1, seed=seed).search()
        found[name] = [(trial["values"], trial["score"]) for trial in read_trials(tmp_path / name)]
    assert found["a"] == found["b"]
    assert found["a"] != found["c"]


def test_hyperband_continues_the_best_trials(corpus, tmp_path, in_process):
    hypermodel = make_hypermodel(corpus, units=[2, 3, 4, 5, 6, 7, 8], learning_rate=[0.003])
    Search(hypermodel, tmp_path / "s", "hyperband", None, epochs=2, factor=2, patience=None).search()
    trials = {trial["trial"]: trial for trial in read_trials(tmp_path / "s")}
    later = [trial for trial in trials.values() if "tuner/trial_id" in trial["values"]]
    assert [trial["epochs"] for trial in trials.values()].count(1) == 2
    assert len(later) == 1
    earlier = trials[later[0]["values"]["tuner/trial_id"]]
    losses = later[0]["runs"]["seed0"]["history"]["loss"]
    assert len(losses) == 2
    assert losses[:1] == earlier["runs"]["seed0"]["history"]["loss"]
    assert models_left(tmp_path / "s") == ["best.keras"]
    assert not [*(tmp_path / "s").rglob("*.weights.h5")]
    # Two epochs at once give what one and one more give.
    whole = ClassificationHyperModel(
        corpus, ["cnn"], values={**TINY, "units": [later[0]["values"]["units"]], "learning_rate": [0.003]}, only=True
    )
    Search(whole, tmp_path / "whole", max_trials=1, epochs=2).search()
    np.testing.assert_allclose(
        read_trials(tmp_path / "whole")[0]["runs"]["seed0"]["history"]["loss"], losses, rtol=1e-5
    )


# Failures.


def test_failing_trials_are_recorded_and_the_search_continues(corpus, tmp_path, in_process, capsys):
    hypermodel = make_hypermodel(corpus, Fails, word_dropout=[0.0, 0.1, 0.2, 0.3, 0.05, 0.02])
    Search(hypermodel, tmp_path / "s", "grid", None, epochs=1).search()
    trials = read_trials(tmp_path / "s")
    assert len(trials) == 6
    reasons = {trial["values"]["word_dropout"]: trial.get("failure") for trial in trials}
    assert [*reasons] == [0.0, 0.1, 0.2, 0.3, 0.05, 0.02]
    assert reasons[0.0] is None
    assert reasons[0.02] is None
    assert reasons[0.1] == reasons[0.2] == reasons[0.3] == "MemoryError: too large"
    assert reasons[0.05].startswith("NonFiniteLossError: The loss is nan after step 1 of epoch 1.")
    captured = capsys.readouterr()
    assert captured.out.count("failed: MemoryError: too large") == 3
    assert "Traceback" not in captured.err
    traces = [json.loads(path.read_text())["traceback"] for path in (tmp_path / "s").rglob("failure.json")]
    assert len(traces) == 4
    assert any("in build" in trace for trace in traces)
    assert models_left(tmp_path / "s") == ["best.keras"]
    assert len(in_process) == 6
    Search(hypermodel, tmp_path / "s", "grid", None, epochs=1, resume=True).search()
    assert len(in_process) == 6  # trials that have failed are not repeated


def test_a_search_without_any_success_says_so(corpus, tmp_path, in_process):
    search = Search(make_hypermodel(corpus, Fails, word_dropout=[0.1]), tmp_path / "s", max_trials=2)
    with pytest.raises(RuntimeError, match=r"No trial has succeeded.*record\.json"):
        search.search()


@pytest.mark.skipif(BACKEND != "torch", reason="once is enough: processes start the fastest with PyTorch")
@pytest.mark.short_run
def test_a_trial_that_the_system_ends(tmp_path):
    hypermodel = make_hypermodel(tiny_corpus(), EndedBySystem, units=[3, 4])
    Search(hypermodel, tmp_path / "s", "grid", None, epochs=1).search()
    ended, whole = read_trials(tmp_path / "s")
    assert ended["failure"] == "the process was ended by signal SIGKILL, perhaps because memory ran out"
    assert whole["score"] > 0
    assert (tmp_path / "s" / "best.keras").exists()


@pytest.mark.short_run
def test_memory_does_not_grow(corpus, tmp_path, monkeypatch):
    """The memory of trainings ends with their processes; this is the memory of the search itself."""
    psutil = pytest.importorskip("psutil")
    result = {"score": 0.5, "best_epoch": 1, "epochs": 1, "parameters": 9, "seconds_per_epoch": 1.0, "seed": 0,
              "settings": {}, "history": {"val_accuracy": [0.5] * 100}}  # fmt: skip
    memory = []

    def train(training):
        memory.append(psutil.Process().memory_info().rss)
        training.folder.mkdir()
        (training.folder / "model.keras").write_bytes(b"model")
        return result

    monkeypatch.setattr(search_module, "train_apart", train)
    hypermodel = ClassificationHyperModel(corpus, ["slstm", "cnn"])
    Search(hypermodel, tmp_path / "s", max_trials=50).search()
    assert len(memory) == 50
    assert memory[-1] < 1.2 * memory[4]


# Several processes.


def test_concurrent_writers_keep_the_best_model(corpus, tmp_path, pretended, monkeypatch):
    search = Search(make_hypermodel(corpus, units=[2, 3]), tmp_path / "s", "grid", 2, epochs=1)
    with monkeypatch.context() as patch:
        patch.setattr(search_module, "drop_models", lambda folder: None)
        search.search()
    asked = iter(["0", "1", "1", "1"])  # while this process writes that of 0, another one finds 1
    monkeypatch.setattr(search, "_best_id", lambda: next(asked))
    assert search._keep_best() == "1" == best_trial(tmp_path / "s")
    (tmp_path / "s" / "trial_0" / "seed0" / "model.keras").unlink()
    monkeypatch.setattr(search, "_best_id", lambda: "0")
    with pytest.raises(RuntimeError, match=r"The model of the best trial is missing: .*trial_0"):
        search._keep_best()
    assert not keep_best(tmp_path / "s", "7")


def test_values_survive_the_way_to_a_worker(corpus):
    hp = keras_tuner.HyperParameters()
    ClassificationHyperModel(corpus, ["slstm", "cnn"]).declare_hyperparameters(hp)
    hp.values["learning_rate"] = 0.0012345678901234
    again = keras_tuner.HyperParameters.from_proto(hp.to_proto())
    assert again.values == hp.values
    assert all(type(again.values[name]) is type(value) for name, value in hp.values.items())


def test_the_arguments_of_a_training_can_be_pickled(corpus):
    hypermodel = pickle.loads(pickle.dumps(make_hypermodel(corpus)))
    assert hypermodel.train == corpus.train
    assert not hasattr(hypermodel, "test")
    assert hypermodel.description() == make_hypermodel(corpus).description()


# Wrong arguments.


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tuner": "annealing"}, "`tuner` must be one of.*'annealing'"),
        ({"max_trials": 0}, "`max_trials` must be an integer of at least 1, but got 0"),
        ({"max_trials": None}, '`max_trials` is needed for tuner="random"'),
        ({"epochs": 0}, "`epochs` must be an integer of at least 1, but got 0"),
        ({"patience": -1}, "`patience` must be an integer of at least 1, but got -1"),
        ({"seeds": []}, r"`seeds` must be one or more distinct numbers, but got \[\]"),
        ({"seeds": [1, 1]}, r"`seeds` .* but got \[1, 1\]"),
        ({"factor": 1}, "`factor` must be an integer of at least 2, but got 1"),
        ({"strategy": "tpu"}, "`strategy` must be None or \"mirrored\", but got 'tpu'"),
    ],
)
def test_wrong_arguments(corpus, tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        Search(make_hypermodel(corpus), tmp_path / "s", **wrong)
    assert not (tmp_path / "s").exists()


def test_no_search_in_a_folder(tmp_path):
    for read in (read_search, read_trials):
        with pytest.raises(FileNotFoundError, match="contains no search"):
            read(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"trial": ', r"trial_0/record\.json is damaged: Expecting value"),
        ("null", r"trial_0/record\.json is damaged: expected a JSON object, but found None"),
        ("{}", r"trial_0/record\.json: `trial` must be a trial number, not None. Delete the file"),
        ('{"trial": "0", "values": null}', r"trial_0/record\.json: `values` must be .*, not None"),
        (
            '{"trial": "0", "values": {}, "score": "high"}',
            r"record\.json: `score` must be a number, not 'high'",
        ),
    ],
)
def test_a_damaged_record_is_named(tmp_path, text, message):
    (tmp_path / "trial_0").mkdir()
    (tmp_path / "search.json").write_text("{}")
    (tmp_path / "trial_0" / "record.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_trials(tmp_path)


def test_oracles_keep_going_when_trials_fail():
    for tuner in ("random", "bayesian", "hyperband", "grid"):
        assert make_oracle(tuner, "val_loss", "min", 3, 0, 2).max_consecutive_failed_trials > 10**6
