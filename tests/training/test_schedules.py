"""The learning rate on a plateau, with and without an interruption."""

from __future__ import annotations

import contextlib

import keras
import numpy as np
import pytest

from keras_slstm.training.schedules import decay_on_plateau, rate_on_plateau
from keras_slstm.training.training_run import TrainingRun


@pytest.mark.parametrize(
    ("scores", "patience", "expected"),
    [
        ([], 1, 1.0),
        ([0.5], 1, 1.0),
        ([0.5, 0.6, 0.7], 1, 1.0),
        ([0.5, 0.5], 1, 0.5),  # as good is not better
        ([0.5, 0.4, 0.45], 1, 0.25),  # better than the last, but not than the best
        ([0.5, 0.4, 0.45], 2, 0.5),
        ([0.5, 0.4, 0.6, 0.5], 2, 1.0),  # an epoch that is better starts the count anew
        ([0.5, 0.4, 0.3, 0.2], 2, 0.5),  # and so does a halving
        ([0.5, 0.4, 0.3, 0.2, 0.1], 2, 0.25),
        ([float("nan"), float("nan"), 0.1], 2, 0.5),
    ],
)
def test_rate_after_scores(scores, patience, expected):
    assert rate_on_plateau(1.0, scores, patience) == expected
    assert rate_on_plateau(3.0, scores, patience, factor=1.0) == 3.0


class Scores(keras.callbacks.Callback):
    """Plays given scores, and notes the learning rate of each epoch."""

    def __init__(self, scores, stop_before=None):
        super().__init__()
        self.scores = scores
        self.stop_before = stop_before
        self.rates = []

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.stop_before:
            raise KeyboardInterrupt

    def on_train_batch_begin(self, batch, logs=None):
        self.rates.append(float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)))

    def on_epoch_end(self, epoch, logs=None):
        logs["score"] = self.scores[epoch]


def train(folder, scores, stop_before=None):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), loss="mse", jit_compile=False)
    run = TrainingRun(folder, {})
    played = Scores(scores, stop_before)
    callbacks = [decay_on_plateau(run, 0.1, patience=1, monitor="score"), played]
    x = np.ones((2, 1), "float32")
    with contextlib.suppress(KeyboardInterrupt):
        run.fit(model, x, x, epochs=len(scores), monitor="score", callbacks=callbacks, verbose=0)
    return played.rates, run.history


def test_a_resumed_training_has_the_right_learning_rate(tmp_path):
    scores = [0.5, 0.4, 0.6, 0.6, 0.5]
    expected = [0.1, 0.1, 0.05, 0.05, 0.025]
    rates, history = train(tmp_path / "whole", scores)
    assert rates == pytest.approx(expected)
    assert history["score"] == scores
    first, _ = train(tmp_path / "cut", scores, stop_before=2)
    second, history = train(tmp_path / "cut", scores)
    assert first + second == pytest.approx(expected)
    assert history["learning_rate"] == pytest.approx(expected)
