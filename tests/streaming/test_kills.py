"""A killed training on a prepared corpus resumes, and ends with exactly the same weights."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_slstm import SentenceClassifier
from keras_slstm.streaming import StreamedBatches, prepare_corpus
from keras_slstm.training import TrainingRun
from tests.processes import run_python

pytest.importorskip("array_record")
pytestmark = [pytest.mark.backends("torch"), pytest.mark.short_run]

STEPS = 150


def train(folder, steps=0, seconds=0.0):
    """Prepare the corpus and train; a timer may kill the process some seconds after a number of steps."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
    timer.daemon = True
    corpus = prepare_corpus(Path(folder, "texts.tsv"), Path(folder, "prepared"))

    class Die(keras.callbacks.Callback):
        left = steps

        def on_train_batch_end(self, batch, logs=None):
            self.left -= 1
            if self.left == 0:
                timer.start()

    keras.utils.set_random_seed(0)
    model = SentenceClassifier(corpus.labels, encoder="lstm", units=4, embedding_dim=4, vectorizer=corpus.vectorizer)
    model.compile("adam")
    batches = StreamedBatches(corpus, 8, window=4, seed=3)
    run = TrainingRun(Path(folder, "run"), {"seed": 0})
    run.fit(model, batches, epochs=STEPS // 50, save_every=2, monitor="loss", mode="min", callbacks=[Die()], verbose=0)
    np.savez(Path(folder, "weights.npz"), *model.get_weights())


def _weights(folder):
    with np.load(folder / "weights.npz") as file:
        return list(file.values())


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_training_killed_at_random_moments(tmp_path, kills):
    rng = np.random.default_rng(kills)
    lines = [
        f"{'odd' if i % 2 else 'even'}\t{' '.join(f'w{w}' for w in rng.integers(0, 30, 1 + i % 9))}\n"
        for i in range(400)
    ]
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "texts.tsv").write_text("label\ttext\n" + "".join(lines))
    train(tmp_path / "whole")
    moments = [(int(rng.integers(1, 1 + STEPS // kills)), rng.uniform(0.0, 0.05)) for _ in range(kills)]
    for arguments in [*moments, ()]:
        call = f"train{(str(tmp_path / 'killed'), *arguments)!r}"
        done = run_python("-c", f"from tests.streaming.test_kills import train; {call}")
        assert done.returncode == (-signal.SIGKILL if arguments else 0), done.stderr
    for a, b in zip(_weights(tmp_path / "killed"), _weights(tmp_path / "whole"), strict=True):
        np.testing.assert_array_equal(a, b)
