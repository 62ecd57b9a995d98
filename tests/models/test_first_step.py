"""TensorFlow traces the training step of a text model once."""

from __future__ import annotations

import keras
import pytest

from keras_slstm.models import raw_data
from tests.models.test_low_rank import make

pytestmark = pytest.mark.backends("tensorflow")


def train(name, monkeypatch):
    """Return the history of a training, and how often its step was traced."""
    keras.utils.set_random_seed(0)
    model, x, y = make(name)
    model.compile("adam")
    traces = []
    train_step = keras.Model.train_step
    monkeypatch.setattr(keras.Model, "train_step", lambda *data: traces.append(data) or train_step(*data))
    weights = None if name == "Seq2Seq" else [1.0, 2.0, 1.0, 0.5]
    history = model.fit(x, y, sample_weight=weights, epochs=2, batch_size=2, verbose=0).history
    monkeypatch.setattr(keras.Model, "train_step", train_step)
    return history, len(traces)


@pytest.mark.ci_run
@pytest.mark.parametrize("name", ["SentenceClassifier", "SequenceTagger", "Seq2Seq"])
def test_the_training_step_is_traced_once_and_learns_the_same(name, monkeypatch):
    found, traces = train(name, monkeypatch)
    monkeypatch.setattr(raw_data, "create_variables", lambda model, batch: None)
    expected, more_traces = train(name, monkeypatch)
    assert (traces, more_traces) == (1, 2)
    assert found == expected
