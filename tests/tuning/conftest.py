"""Small corpora, and searches whose trainings run in this process or not at all."""

from __future__ import annotations

import zlib

import keras_tuner
import pytest

from keras_slstm.datasets.corpus import Corpus, Texts
from keras_slstm.files import write_json
from keras_slstm.tuning import ClassificationHyperModel, trial

# Every hyperparameter at a small value, but those that a test varies.
TINY = {
    "encoder": ["cnn"],
    "units": [4],
    "embedding_dim": [4],
    "batch_size": [32],
    "learning_rate": [0.05],
    "dropout": [0.0],
}


def tiny_corpus() -> Corpus:
    """Texts whose first word says the label."""
    texts = [f"{'good' if i % 2 else 'bad'} news from number {i % 7}" for i in range(96)]
    part = Texts(texts, ["joy" if i % 2 else "grief" for i in range(96)])
    return Corpus("tiny", part.take(range(64)), part.take(range(64, 96)), part.take(range(8)), ["grief", "joy"])


def make_hypermodel(corpus, cls=ClassificationHyperModel, **values):
    """Searches these values of a CNN."""
    return cls(corpus, ["cnn"], values={**TINY, **values}, only=True)


@pytest.fixture
def corpus() -> Corpus:
    return tiny_corpus()


@pytest.fixture
def in_process(monkeypatch):
    """Runs trainings in this process, which saves start-up time, and returns the list of them."""
    trainings = []

    def run(training):
        trainings.append(training)
        return trial.attempt(training)

    monkeypatch.setattr(trial, "run_process", run)
    return trainings


@pytest.fixture
def pretended(monkeypatch):
    """Replaces trainings by results that depend only on the values and the seed, for tests of the search itself.

    It returns the list of trainings.
    """
    trainings = []

    def run(training):
        trainings.append(training)
        hp = keras_tuner.HyperParameters()
        hp.values = dict(training.values)
        score = draw(sorted(training.values.items()), training.seed)
        (training.folder / "run").mkdir(parents=True, exist_ok=True)
        (training.folder / trial.TRIAL_MODEL).write_bytes(b"model")
        found = {"score": score, "best_epoch": 1, "epochs": training.epochs, "parameters": 9, "seconds_per_epoch": 1.0,
                 "seed": training.seed, "settings": training.hypermodel.settings(hp),
                 "history": {training.hypermodel.objective: [score] * training.epochs}}  # fmt: skip
        if training.test is not None:
            found["test"] = draw(vars(training.test), training.seed)
        write_json(training.folder / trial._RESULT, found)
        return 0

    monkeypatch.setattr(trial, "run_process", run)
    return trainings


def draw(*what):
    """A number between 0 and 1 that depends on nothing else."""
    return zlib.crc32(repr(what).encode()) / 2**32
