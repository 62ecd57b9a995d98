"""The length of a training, its patience, and its best epoch."""

from __future__ import annotations

import keras
import pytest

from keras_slstm.training.training_run import TrainingRun
from tests.training.test_training_run import LABELS, TEXTS, fake_logs, new_model

pytestmark = pytest.mark.short_run("torch")


def test_without_any_score_there_is_no_best_epoch(tmp_path):
    run, model = TrainingRun(tmp_path), new_model()
    with pytest.warns(RuntimeWarning, match=r"There is no best epoch.*'score' is not finite"):
        run.fit(
            model,
            model.batches(TEXTS, LABELS),
            epochs=2,
            monitor="score",
            callbacks=[fake_logs([float("nan")] * 2)],
            verbose=0,
        )
    assert run.best_epoch == 0


def test_length_and_patience_in_updates(tmp_path):
    model = new_model()
    run = TrainingRun(tmp_path / "run")
    batches = model.batches(TEXTS, LABELS, batch_size=10, min_batches=12)
    history = run.fit(model, batches, updates=30, monitor="loss", mode="min", verbose=0)
    assert len(batches) == 12
    assert len(history["loss"]) == run.epochs_done == 3  # 36 updates
    assert int(model.optimizer.iterations) == 12 * run.best_epoch  # the state of the best epoch is back

    stopped = TrainingRun(tmp_path / "patience")
    model = new_model()
    model.optimizer.learning_rate.assign(0.0)
    batches = model.batches(TEXTS, LABELS, batch_size=10, min_batches=12)
    data = (TEXTS, LABELS)
    stopped.fit(model, batches, validation_data=data, updates=600, patience=40, verbose=0)
    assert stopped.best_epoch == 1
    assert stopped.epochs_done == 5  # 4 epochs are 48 updates

    # Where an epoch is cut, its steps count.
    cut = TrainingRun(tmp_path / "cut").fit(
        new_model(), x=batches, updates=8, steps_per_epoch=4, monitor="loss", mode="min", verbose=0
    )
    assert len(cut["loss"]) == 2

    for wrong in ({}, {"epochs": 1, "updates": 1}):
        with pytest.raises(ValueError, match="Pass either `epochs` or `updates`"):
            run.fit(model, batches, **wrong)
    with pytest.raises(ValueError, match=r"number of batches must be known .* not list"):
        run.fit(model, [1], [2], updates=3)
    with pytest.raises(ValueError, match="`updates` must be an integer of at least 1, but got 0"):
        run.fit(model, batches, updates=0)


def test_among_equal_scores_the_lowest_loss_is_best(tmp_path):
    class Scores(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs.update(val_accuracy=[0.4, 0.5, 0.5, 0.5][epoch], val_loss=[9.0, 3.0, 2.0, 2.5][epoch])

    run = TrainingRun(tmp_path / "run")
    model = new_model()
    batches = model.batches(TEXTS, LABELS, batch_size=10)
    run.fit(model, batches, epochs=9, patience=1, callbacks=[Scores()], verbose=0)
    assert run.epochs_done == 4
    assert run.best_epoch == 3


@pytest.mark.parametrize(
    ("scores", "patience", "epochs", "best"),
    [
        ([0.5, 1.0, 1.0, 1.0, 1.0, 1.0], 2, 4, 4),  # a perfect score ends by patience, though the loss falls
        ([0.5, 0.9, 0.9, 0.9, 0.9, 0.9], 2, 6, 6),  # one that can rise does not, while the loss falls
        ([2.0, 1.0, 3.0, 1.0, 1.0, 1.0], 2, 5, 3),  # 1.0 is not the best of these
    ],
)
def test_a_perfect_score_ends_by_patience(tmp_path, scores, patience, epochs, best):
    class Scores(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs.update(val_accuracy=scores[epoch], val_loss=0.9**epoch)

    run = TrainingRun(tmp_path / "run")
    model = new_model()
    batches = model.batches(TEXTS, LABELS, batch_size=30)
    options = {"epochs": 6, "patience": patience, "callbacks": [Scores()], "verbose": 0}
    run.fit(model, batches, **options)
    assert (run.epochs_done, run.best_epoch) == (epochs, best)

    again = TrainingRun(tmp_path / "run")
    again.fit(new_model(), batches, **options)
    assert again.epochs_done == epochs
