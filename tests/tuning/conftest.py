"""Small corpora, and searches whose trainings run in this process, which saves the seconds of a start each."""

from __future__ import annotations

import pytest

from keras_slstm.data.corpus import Corpus, Texts
from keras_slstm.tuning import trial

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


@pytest.fixture
def corpus() -> Corpus:
    return tiny_corpus()


@pytest.fixture
def in_process(monkeypatch):
    """Trainings run here, not in processes of their own; the list of them."""
    trainings = []

    def run(training):
        trainings.append(training)
        return trial.attempt(training)

    monkeypatch.setattr(trial, "run_process", run)
    return trainings
