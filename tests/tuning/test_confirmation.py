"""Compares the best trial of a search with the defaults, on the test set."""

import json

import keras
import keras_tuner
import pytest

from keras_slstm.datasets.corpus import Texts
from keras_slstm.datasets.pair_corpus import PairCorpus, Pairs
from keras_slstm.datasets.tagged_corpus import TaggedCorpus, TaggedSentences
from keras_slstm.tuning import (
    ClassificationHyperModel,
    PairHyperModel,
    Search,
    TaggingHyperModel,
    confirm,
    read_confirmation,
    trial,
)
from keras_slstm.tuning.trial import Training, train
from tests.tuning.conftest import TINY

pytestmark = pytest.mark.backends("torch")  # processes start fastest with PyTorch

# The default learns nothing; the other one, to tell the labels apart.
VALUES = {**TINY, "units": [8], "batch_size": [8], "learning_rate": [1e-9, 0.05]}


@pytest.fixture
def hypermodel(corpus):
    return ClassificationHyperModel(corpus, ["cnn"], values=VALUES, only=True)


@pytest.fixture
def test_part(corpus):
    """A quarter of each label is wrong, so scores on this split differ from those on the development examples."""
    wrong = {"joy": "grief", "grief": "joy"}
    texts, labels = corpus.validation.texts, corpus.validation.labels
    return Texts(texts, [label if i % 8 > 1 else wrong[label] for i, label in enumerate(labels)])


def make_search(hypermodel, folder, **options):
    return Search(hypermodel, folder, "grid", None, epochs=4, seeds=[5], **options)


def test_best_against_default(hypermodel, test_part, tmp_path, in_process):
    search = make_search(hypermodel, tmp_path / "s")
    search.search()
    assert read_confirmation(tmp_path / "s") is None
    assert all(training.test is None for training in in_process)
    record = json.loads((tmp_path / "s" / "best.json").read_text())
    in_process.clear()
    found = confirm(search, test_part, 2)
    assert found == read_confirmation(tmp_path / "s")
    assert (found["objective"], found["seeds"]) == ("val_accuracy", [6, 7])  # none that the search has used
    best, default = found["configurations"]
    assert (best["name"], best["trial"], best["settings"]) == ("best", record["trial"], record["settings"])
    assert (default["name"], default["trial"]) == ("default", None)
    assert default["settings"] == hypermodel.settings(keras_tuner.HyperParameters())
    rates = [(training.values["learning_rate"], training.seed) for training in in_process]
    assert rates == [(0.05, 6), (0.05, 7), (1e-9, 6), (1e-9, 7)]
    assert best["development"] == [1.0, 1.0]
    assert best["test"] == [0.75, 0.75]
    assert max(default["test"]) < 0.75
    assert best["parameters"] == record["parameters"]
    assert best["seconds_per_epoch"] > 0
    assert not [*(tmp_path / "s").glob("confirmation-*/**/*.keras")]
    assert not [*(tmp_path / "s").glob("confirmation-*/**/*.h5")]


def test_it_resumes_and_ignores_other_results(hypermodel, corpus, test_part, tmp_path, pretended):
    search = make_search(hypermodel, tmp_path / "s")
    search.search()
    found = confirm(search, test_part, 1)
    pretended.clear()
    assert confirm(make_search(hypermodel, tmp_path / "s", resume=True), test_part, 1) == found
    assert not pretended
    assert confirm(search, test_part, 2)["configurations"][0]["test"][:1] == found["configurations"][0]["test"]
    assert len(pretended) == len(found["configurations"])
    other = confirm(search, corpus.validation, 1)["configurations"][0]  # the same texts with their true labels
    assert other["test"] != found["configurations"][0]["test"]


def test_the_defaults_are_best(corpus, test_part, tmp_path, pretended):
    hypermodel = ClassificationHyperModel(corpus, ["cnn"], values={**VALUES, "learning_rate": [0.05]}, only=True)
    search = make_search(hypermodel, tmp_path / "s")
    search.search()
    (default,) = confirm(search, test_part, 1)["configurations"]
    assert (default["name"], default["trial"], len(default["test"])) == ("default", None, 1)


def test_hyperband_is_confirmed_with_all_epochs(hypermodel, test_part, tmp_path, pretended):
    search = Search(hypermodel, tmp_path / "s", "hyperband", None, epochs=2, factor=2, patience=None)
    search.search()
    pretended.clear()
    confirm(search, test_part, 1)
    assert [(training.epochs, training.earlier) for training in pretended] == [(2, None)] * len(pretended)


def test_a_training_that_fails_is_named(hypermodel, test_part, tmp_path, pretended, monkeypatch):
    search = make_search(hypermodel, tmp_path / "s")
    search.search()
    monkeypatch.setattr(trial, "run_process", trial.attempt)
    monkeypatch.setattr(ClassificationHyperModel, "make_model", lambda self, settings: 1 / 0)
    with pytest.raises(RuntimeError, match=r"the (best|default) settings with seed 6 has failed: ZeroDivisionError"):
        confirm(search, test_part)


def test_wrong_arguments(hypermodel, test_part, tmp_path):
    search = make_search(hypermodel, tmp_path / "s")
    with pytest.raises(ValueError, match="`number` must be an integer of at least 1, but got 0"):
        confirm(search, test_part, 0)
    with pytest.raises(ValueError, match="has no successful trial yet"):
        confirm(search, test_part)


# The measure of each task.


def tagging():
    sentences = [["call", name, "at", "noon"] for name in ("anna", "bo", "chris", "dora")] * 8
    part = TaggedSentences(sentences, [["O", "B-PER", "O", "O"]] * 32)
    corpus = TaggedCorpus("mails", part, part, part, ["B-PER", "I-PER", "O"], "BIO")
    small = {**TINY, "characters": ["none"]}
    return TaggingHyperModel, corpus, small


def pairs():
    part = Pairs([(f"mail {i % 9}", f"{'mail' if i % 2 else 'car'} {i % 9}") for i in range(32)], ["yes", "no"] * 16)
    return PairHyperModel, PairCorpus("pairs", part, part, part, ["no", "yes"]), {**TINY, "mlp_units": [4]}


def scores():
    part = Pairs([(f"mail {i % 9}", f"{'mail' if i % 2 else 'car'} {i % 9}") for i in range(32)], [1.0, 4.5] * 16)
    corpus = PairCorpus("scores", part, part, part, [], (1, 5))
    return PairHyperModel, corpus, {**TINY, "mlp_units": [4]}


@pytest.mark.parametrize("task", [tagging, pairs, scores])
def test_the_measured_score_is_the_objective(tmp_path, task):
    """On the development examples it is what the training itself has found."""
    cls, corpus, values = task()
    objectives = {"tagging": ("val_f1", "val_accuracy"), "pairs": ("val_accuracy", "val_loss"),
                  "scores": ("val_pearson", "val_loss")}[task.__name__]  # fmt: skip
    hypermodel = cls(corpus, ["cnn"], values=values, only=True)
    assert (hypermodel.objectives, hypermodel.objective) == (objectives, objectives[0])
    found = train(Training(hypermodel, {}, seed=0, folder=tmp_path, epochs=2, test=corpus.validation))
    assert found["score"] == max(found["history"][objectives[0]])
    assert found["test"] == pytest.approx(found["score"], rel=1e-5)
    model = keras.saving.load_model(tmp_path / "model.keras")
    other = cls(corpus, ["cnn"], values=values, only=True, objective=objectives[1])
    at_best = found["history"][objectives[1]][found["best_epoch"] - 1]
    assert other.measure(model, corpus.validation) == pytest.approx(at_best, rel=1e-4)


def test_objectives(corpus):
    with pytest.raises(ValueError, match=r"`objective` must be one of .*val_accuracy.*, but got 'f1'"):
        ClassificationHyperModel(corpus, ["cnn"], objective="f1")
    assert ClassificationHyperModel(corpus, ["cnn"], objective="val_loss").direction == "min"
    assert ClassificationHyperModel(corpus, ["cnn"]).direction == "max"
