import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.layers.pooling import MaskedGlobalAveragePooling1D
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.training import TrainingRun, fingerprint

TEXTS = [" ".join(["yes" if i % 2 else "no", *["word"] * (i % 7)]) for i in range(60)]
LABELS = ["odd" if i % 2 else "even" for i in range(60)]


def new_model():
    keras.utils.set_random_seed(0)
    # Without an encoder proper, which would only cost time here.
    model = SentenceClassifier(["even", "odd"], MaskedGlobalAveragePooling1D(), embedding_dim=4, dropout=0.5)
    model.adapt(TEXTS)
    jit = keras.backend.backend() == "jax"
    model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=jit)
    return model


def train(run, model, epochs, callbacks=(), **options):
    batches = model.batches(TEXTS, LABELS, batch_size=10, seed=5)
    return run.fit(model, batches, epochs=epochs, monitor="loss", mode="min", callbacks=callbacks, verbose=0, **options)


class InterruptAfter(keras.callbacks.Callback):
    """Stops the program in the middle of an epoch."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.current == self.epoch and batch == 2:
            raise KeyboardInterrupt

    def on_epoch_begin(self, epoch, logs=None):
        self.current = epoch


def test_a_resumed_training_ends_with_the_same_weights(tmp_path):
    whole = new_model()
    whole_history = train(TrainingRun(tmp_path / "whole"), whole, 4)

    with pytest.raises(KeyboardInterrupt):
        train(TrainingRun(tmp_path / "cut"), new_model(), 4, [InterruptAfter(2)])
    run = TrainingRun(tmp_path / "cut")
    assert run.epochs_done == 2
    resumed = new_model()
    history = train(run, resumed, 4)
    assert history.keys() == whole_history.keys()
    for name in history:
        np.testing.assert_allclose(history[name], whole_history[name], rtol=1e-5)
    for a, b in zip(resumed.get_weights(), whole.get_weights()):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_without_the_random_state_it_would_differ(tmp_path):
    """The test above can fail: dropout is what it is sensitive to."""
    whole = new_model()
    train(TrainingRun(tmp_path / "whole"), whole, 2)
    train(TrainingRun(tmp_path / "cut"), new_model(), 1)
    progress = json.loads((tmp_path / "cut" / "progress.json").read_text())
    state = progress["random_state"]
    state["seed_generators"] = [[1, 2] for _ in state["seed_generators"]]
    state.pop("torch", None)
    (tmp_path / "cut" / "progress.json").write_text(json.dumps(progress))
    resumed = new_model()
    train(TrainingRun(tmp_path / "cut"), resumed, 2)
    assert max(np.abs(a - b).max() for a, b in zip(resumed.get_weights(), whole.get_weights())) > 1e-5


def fake_logs(values):
    """Replaces the monitored value, so that a test decides which epoch is best."""
    return keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: logs.update(score=values[epoch]),
    )


def test_best_epoch_and_patience_survive(tmp_path):
    scores = [0.5, 0.7, 0.6, float("nan"), 0.9]
    weights = []
    keep = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: weights.append(model.get_weights()))
    options = {"monitor": "score", "mode": "max", "verbose": 0}
    model = new_model()
    batches = model.batches(TEXTS, LABELS)
    run = TrainingRun(tmp_path)
    run.fit(model, batches, epochs=3, patience=2, callbacks=[fake_logs(scores), keep], **options)
    assert run.best_epoch == 2
    for a, b in zip(model.get_weights(), weights[1]):
        np.testing.assert_array_equal(a, b)

    run = TrainingRun(tmp_path)
    model = new_model()
    history = run.fit(model, batches, epochs=9, patience=2, callbacks=[fake_logs(scores)], **options)
    assert len(history["score"]) == 4  # the second epoch without a better one was the first after resuming
    for a, b in zip(model.get_weights(), weights[1]):
        np.testing.assert_array_equal(a, b)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"settings.json", "progress.json", "epoch-0002.weights.h5", "epoch-0004.weights.h5"}

    # A training that had ended is not taken up again.
    again = TrainingRun(tmp_path)
    again.fit(new_model(), batches, epochs=9, patience=2, callbacks=[fake_logs(scores)], **options)
    assert again.epochs_done == 4


def test_finished_runs_and_other_settings_are_refused(tmp_path):
    settings = {"units": 4, "texts": ("a", "b")}
    run = TrainingRun(tmp_path, settings)
    model = new_model()
    train(run, model, 1)
    with pytest.raises(ValueError, match="units=4, not 5"):
        TrainingRun(tmp_path, {**settings, "units": 5})
    assert TrainingRun(tmp_path, settings).epochs_done == 1
    path = run.save(model)
    assert {p.name for p in tmp_path.iterdir()} == {"model.keras", "progress.json", "settings.json"}
    with pytest.raises(FileExistsError, match="finished run"):
        TrainingRun(tmp_path, settings)
    (tmp_path / "notes.txt").write_text("mine")
    assert TrainingRun(tmp_path, settings, overwrite=True).epochs_done == 0
    assert not path.exists()
    assert (tmp_path / "notes.txt").exists()


def test_a_state_half_written_does_not_count(tmp_path):
    train(TrainingRun(tmp_path), new_model(), 1)
    (tmp_path / "epoch-0002.weights.h5").write_bytes(b"half")
    (tmp_path / "unfinished-1-progress.json").write_bytes(b"{")
    run = TrainingRun(tmp_path)
    assert run.epochs_done == 1
    train(run, new_model(), 2)
    assert run.epochs_done == 2
    assert not list(tmp_path.glob("unfinished-*"))


def test_an_unknown_monitor_names_the_known_ones(tmp_path):
    model = new_model()
    with pytest.raises(ValueError, match="no 'val_f1' in the logs: accuracy, loss"):
        TrainingRun(tmp_path).fit(model, model.batches(TEXTS, LABELS), epochs=1, monitor="val_f1", verbose=0)


def test_fingerprint():
    assert fingerprint(["a", "b"], ["c"]) == fingerprint(["a", "b"], ["c"])
    assert len({fingerprint(["a", "b"], ["c"]), fingerprint(["a"], ["b", "c"]), fingerprint(["ab"], ["c"])}) == 3


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="one backend is enough for the signal")
def test_killed_process_resumes(tmp_path):
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import keras
from tests.test_training import TrainingRun, new_model, train
class Kill(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            os.kill(os.getpid(), signal.SIGKILL)
train(TrainingRun({str(tmp_path)!r}), new_model(), 4, [Kill()])
"""
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(keras_slstm.__file__).parents[1], env=os.environ, check=False
    )
    assert result.returncode == -signal.SIGKILL
    run = TrainingRun(tmp_path)
    assert run.epochs_done == 2
    resumed, whole = new_model(), new_model()
    train(run, resumed, 3)
    train(TrainingRun(tmp_path / "whole"), whole, 3)
    for a, b in zip(resumed.get_weights(), whole.get_weights()):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("name", ["settings.json", "progress.json"])
def test_damaged_state_is_named(tmp_path, name):
    (tmp_path / "progress.json").write_text('{"epochs": 1, "best_epoch": 1, "history": {}, "random_state": {}}')
    (tmp_path / "settings.json").write_text("{}")
    TrainingRun(tmp_path)
    (tmp_path / name).write_text('{"epochs": ')
    with pytest.raises(ValueError, match=rf"{name} is missing or damaged.*overwrite"):
        TrainingRun(tmp_path)
    TrainingRun(tmp_path, overwrite=True)
