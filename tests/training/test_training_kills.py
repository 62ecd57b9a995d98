"""Killed trainings resume and end with the same weights."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_slstm.training.training_run import TrainingRun
from tests.processes import run_python
from tests.training.test_training_run import new_model, train


def train_and_die(folder, steps=None, seconds=0.0):
    """A training of 180 steps, unless it is killed so many seconds after so many."""

    class Die(keras.callbacks.Callback):
        left = steps

        def on_train_batch_end(self, batch, logs=None):
            if self.left is None:
                return
            self.left -= 1
            if self.left == 0:
                timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
                timer.daemon = True
                timer.start()

    model = new_model()
    train(TrainingRun(folder), model, 30, [Die()], save_every=1)
    np.savez(Path(folder) / "weights.npz", *model.get_weights())


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="one backend is enough for the signal")
@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.short_run
def test_a_training_killed_at_random_moments(tmp_path, kills):
    train_and_die(str(tmp_path))
    with np.load(tmp_path / "weights.npz") as file:
        expected = list(file.values())
    rng = np.random.default_rng(kills)
    moments = [(int(rng.integers(1, 9)), rng.uniform(0.0, 0.05)) for _ in range(kills)]
    for arguments in [*moments, ()]:
        call = f"train_and_die{(str(tmp_path / 'run'), *arguments)!r}"
        done = run_python("-c", f"from tests.training.test_training_kills import train_and_die; {call}")
        assert done.returncode == (-signal.SIGKILL if arguments else 0)
    with np.load(tmp_path / "run" / "weights.npz") as file:
        for a, b in zip(file.values(), expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)
