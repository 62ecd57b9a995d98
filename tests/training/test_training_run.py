import json
import signal
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_slstm.layers.pooling import MaskedGlobalAveragePooling1D
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.training.check_loss import CheckLoss, NonFiniteLossError
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.training_run import TrainingRun
from tests.processes import run_python

pytestmark = pytest.mark.short_run("torch")

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
    whole = train(TrainingRun(tmp_path / "whole"), new_model(), 2)["loss"]
    train(TrainingRun(tmp_path / "cut"), new_model(), 1)
    progress = json.loads((tmp_path / "cut" / "progress.json").read_text())
    state = progress["random_state"]
    state["seed_generators"] = [[1, 2] for _ in state["seed_generators"]]
    state.pop("torch", None)
    (tmp_path / "cut" / "progress.json").write_text(json.dumps(progress))
    resumed = train(TrainingRun(tmp_path / "cut"), new_model(), 2)["loss"]
    assert resumed[0] == pytest.approx(whole[0], rel=1e-5)
    assert abs(resumed[1] - whole[1]) > 1e-5


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
    assert files == {"run.json", "settings.json", "progress.json", "epoch-0002.weights.h5", "epoch-0004.weights.h5"}

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
    assert {p.name for p in tmp_path.iterdir()} == {"model.keras", "progress.json", "run.json", "settings.json"}
    with pytest.raises(FileExistsError, match="finished run"):
        TrainingRun(tmp_path, settings)
    (tmp_path / "notes.txt").write_text("mine")
    assert TrainingRun(tmp_path, settings, overwrite=True).epochs_done == 0
    assert not path.exists()
    assert (tmp_path / "notes.txt").exists()


def test_an_incomplete_state_is_ignored(tmp_path):
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
    with pytest.raises(ValueError, match="one of the logs, accuracy, loss, but is 'val_f1'"):
        TrainingRun(tmp_path).fit(model, model.batches(TEXTS, LABELS), epochs=1, monitor="val_f1", verbose=0)


def test_fingerprint():
    assert fingerprint(["a", "b"], ["c"]) == fingerprint(["a", "b"], ["c"])
    assert len({fingerprint(["a", "b"], ["c"]), fingerprint(["a"], ["b", "c"]), fingerprint(["ab"], ["c"])}) == 3


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="one backend is enough for the signal")
def test_killed_process_resumes(tmp_path):
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import keras
from tests.training.test_training_run import TrainingRun, new_model, train
class Kill(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            os.kill(os.getpid(), signal.SIGKILL)
train(TrainingRun({str(tmp_path)!r}), new_model(), 4, [Kill()])
"""
    assert run_python("-c", script).returncode == -signal.SIGKILL
    run = TrainingRun(tmp_path)
    assert run.epochs_done == 2
    resumed, whole = new_model(), new_model()
    train(run, resumed, 3)
    train(TrainingRun(tmp_path / "whole"), whole, 3)
    for a, b in zip(resumed.get_weights(), whole.get_weights()):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("name", ["settings.json", "progress.json", "epoch-0001.weights.h5"])
def test_damaged_state_is_named(tmp_path, name):
    train(TrainingRun(tmp_path), new_model(), 1)
    (tmp_path / name).write_text('{"epochs": ')
    with pytest.raises(ValueError, match=rf"{name}.* damaged.*overwrite"):
        train(TrainingRun(tmp_path), new_model(), 2)
    assert TrainingRun(tmp_path, overwrite=True).epochs_done == 0


@pytest.mark.parametrize("state", [{"seed_generators": [None]}, {"seed_generators": [[1, "a"]]}, {}])
def test_a_damaged_random_state_is_named(tmp_path, state):
    train(TrainingRun(tmp_path), new_model(), 1)
    progress = json.loads((tmp_path / "progress.json").read_text())
    (tmp_path / "progress.json").write_text(json.dumps({**progress, "random_state": state}))
    with pytest.raises(ValueError, match=r"progress.json does not match this model.*overwrite"):
        train(TrainingRun(tmp_path), new_model(), 2)


def test_a_run_can_be_resumed_until_it_is_finished(tmp_path):
    """A script that writes its results after the model and before the end of the run may be killed."""
    run, model = TrainingRun(tmp_path), new_model()
    train(run, model, 2)
    run.save(model, finish=False)
    again, resumed = TrainingRun(tmp_path), new_model()
    assert again.id == run.id
    assert (again.epochs_done, again.history) == (2, run.history)
    train(again, resumed, 2)
    for a, b in zip(resumed.get_weights(), model.get_weights()):
        np.testing.assert_array_equal(a, b)
    again.save(resumed, finish=False)
    again.finish()
    with pytest.raises(FileExistsError, match="finished run"):
        TrainingRun(tmp_path)
    assert TrainingRun(tmp_path, overwrite=True).id != run.id


@pytest.mark.parametrize("layout", ["present", "before run.json"])
def test_weights_left_by_a_process_killed_after_the_end_are_deleted(tmp_path, layout):
    run, model = TrainingRun(tmp_path), new_model()
    train(run, model, 1)
    kept = (tmp_path / "epoch-0001.weights.h5").read_bytes()
    run.save(model)
    (tmp_path / "epoch-0001.weights.h5").write_bytes(kept)
    if layout != "present":
        write_former_layout(tmp_path)
    with pytest.raises(FileExistsError, match="finished run"):
        TrainingRun(tmp_path)
    assert not list(tmp_path.glob("*.weights.h5"))
    assert (tmp_path / "model.keras").exists()


def write_former_layout(folder):
    """Versions before `run.json` wrote no marker, and no `finished` into `progress.json`."""
    (folder / "run.json").unlink()
    progress = json.loads((folder / "progress.json").read_text())
    progress.pop("finished")
    (folder / "progress.json").write_text(json.dumps(progress))


def test_a_run_of_the_former_layout_resumes(tmp_path):
    train(TrainingRun(tmp_path), new_model(), 1)
    write_former_layout(tmp_path)
    run = TrainingRun(tmp_path)
    assert run.epochs_done == 1
    assert len(train(run, new_model(), 2)["loss"]) == 2
    assert (tmp_path / "run.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
@pytest.mark.parametrize("stage", ["state", "model"])
def test_a_full_disk_is_reported_and_keeps_the_previous_state(tmp_path, stage):
    """A limit on the size of files stands for the full disk."""
    import resource

    run, model = TrainingRun(tmp_path), new_model()
    train(run, model, 1)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
    try:
        name = "epoch-0002.weights.h5" if stage == "state" else "model.keras"
        with pytest.raises(OSError, match=rf"{name} could not be written.*MB free.*start again"):
            train(run, model, 2) if stage == "state" else run.save(model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    run, model = TrainingRun(tmp_path), new_model()
    train(run, model, 2)
    assert run.save(model).exists()


@pytest.mark.parametrize("step", [1, 4])
def test_a_training_resumes_in_the_middle_of_an_epoch(tmp_path, step):
    """`step` batches of 6 have been kept; with one left, Keras sees one batch only before the epoch."""
    whole = new_model()
    whole_history = train(TrainingRun(tmp_path / "whole"), whole, 3)

    class Interrupt(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.epoch = epoch

        def on_train_batch_begin(self, batch, logs=None):
            if self.epoch == 1 and batch == step + 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(TrainingRun(tmp_path / "cut"), new_model(), 3, [Interrupt()], save_every=1)
    run = TrainingRun(tmp_path / "cut")
    assert (run.epochs_done, run.steps_done) == (1, step + 1)
    resumed = new_model()
    history = train(run, resumed, 3)
    for name in whole_history:
        np.testing.assert_allclose(history[name], whole_history[name], rtol=1e-5)
    for a, b in zip(resumed.get_weights(), whole.get_weights()):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert {p.name for p in (tmp_path / "cut").iterdir()} == {p.name for p in (tmp_path / "whole").iterdir()}


def test_save_every_needs_batches_in_a_known_order(tmp_path):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones((4, 1), "float32")

    class Data(keras.utils.PyDataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return x, x

    run = TrainingRun(tmp_path)
    with pytest.raises(ValueError, match=r"batches in a known order.*ndarray"):
        run.fit(model, x, x, epochs=1, save_every=1)
    with pytest.raises(ValueError, match=r"shuffle=False.*Data"):
        run.fit(model, Data(), epochs=1, save_every=1)
    with pytest.raises(ValueError, match="steps_per_epoch"):
        run.fit(model, Data(), epochs=1, save_every=1, shuffle=False, steps_per_epoch=1)
    with pytest.raises(ValueError, match="`save_every` must be"):
        run.fit(model, Data(), epochs=1, save_every=0, shuffle=False)


def test_moving_averages_replace_the_weights_once(tmp_path):
    """A training that resumes within an epoch calls `fit` twice, but ends once."""

    def averaged():
        model = new_model()
        optimizer = keras.optimizers.SGD(0.5, use_ema=True, ema_momentum=0.9)
        jit = keras.backend.backend() == "jax"
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=jit)
        return model

    whole = averaged()
    train(TrainingRun(tmp_path / "whole"), whole, 3)
    with pytest.raises(KeyboardInterrupt):
        train(TrainingRun(tmp_path / "cut"), averaged(), 3, [InterruptAfter(1)], save_every=1)
    resumed = averaged()
    train(TrainingRun(tmp_path / "cut"), resumed, 3)
    for a, b in zip(resumed.get_weights(), whole.get_weights()):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("sharp", [True, False])
def test_a_loss_that_is_not_finite(tmp_path, sharp):
    """The training stops and names the step, or skips the step as if its batch did not exist."""
    x = np.linspace(-1, 1, 12, dtype="float32").reshape(12, 1)
    spoilt = x.copy()
    spoilt[7] = np.nan

    def linear():
        model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1, "linear", True, "ones")])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", metrics=["mae"])
        return model

    class Data(keras.utils.PyDataset):
        def __init__(self, chosen):
            super().__init__()
            self.chosen = chosen

        def __len__(self):
            return len(self.chosen)

        def __getitem__(self, index):
            rows = slice(3 * self.chosen[index], 3 * self.chosen[index] + 3)
            return spoilt[rows], 2 * x[rows]

    options = {"monitor": "loss", "mode": "min", "shuffle": False, "verbose": 0}
    if sharp:
        with pytest.raises(NonFiniteLossError, match=r"nan after step 3 of epoch 1"):
            TrainingRun(tmp_path).fit(linear(), Data([0, 1, 2, 3]), epochs=2, **options)
        return
    model, truth = linear(), linear()
    with pytest.warns(RuntimeWarning, match="step 3 of epoch 2: the step is skipped"):
        history = TrainingRun(tmp_path / "a").fit(model, Data([0, 1, 2, 3]), epochs=2, skip_non_finite=True, **options)
    expected = TrainingRun(tmp_path / "b").fit(truth, Data([0, 1, 3]), epochs=2, **options)
    for name in expected:
        np.testing.assert_allclose(history[name], expected[name], rtol=1e-6)
    for a, b in zip(model.get_weights(), truth.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_step_that_breaks_the_weights_is_skipped():
    """Its loss is finite: only the gradient overflows."""
    x = np.ones((6, 1), "float32")
    x[2] = 1.8e19  # the square of the output is below 3.4e38, its gradient above

    def linear():
        model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1, "linear", False, "zeros")])
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model

    def fit(rows, **options):
        model, y = linear(), 2.0 * (rows == 1)
        model.fit(rows, y, batch_size=1, shuffle=False, verbose=0, **options)
        return model.get_weights()[0]

    with pytest.warns(RuntimeWarning, match="A weight is not finite after step 3 of epoch 1: the step is skipped"):
        found = fit(x, callbacks=[CheckLoss(skip=True)])
    np.testing.assert_allclose(found, fit(np.delete(x, 2, axis=0)), rtol=1e-6)
