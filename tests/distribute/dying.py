"""A training in which a process may die: `python -m tests.distribute.dying FOLDER DROPOUT [WHO STEPS SECONDS]`.

Process WHO kills itself SECONDS after STEPS steps; with `stop` for SECONDS, it hangs instead, and with `sleep`, it goes
on after an hour. Without WHO the training ends, and an uninterrupted training follows for comparison. `TIMEOUT` is the
timeout of the strategy.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_slstm import distribute
from keras_slstm.text.batches import TextBatches
from keras_slstm.training.training_run import TrainingRun
from tests.distribute.programs import average, fix_weights, sentences


class Die(keras.callbacks.Callback):
    """Kills this process a number of seconds after a number of steps."""

    def __init__(self, steps: int, seconds: str):
        super().__init__()
        self.steps = steps
        self.seconds = seconds

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.steps -= 1
        if self.steps:
            return
        if self.seconds == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.seconds == "sleep":
            time.sleep(3600)
        timer = threading.Timer(float(self.seconds), os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()


def train(
    folder: str | os.PathLike[str], dropout: float, callbacks: tuple[keras.callbacks.Callback, ...] = ()
) -> keras.Model:
    """Train a model on batches whose order depends on the epoch."""
    ids, labels, _ = sentences(30)
    batches = TextBatches([row[row > 0].tolist() for row in ids], labels, batch_size=4, multiple_of=2)
    with distribute.strategy(timeout=float(os.environ.get("TIMEOUT", "600"))).scope():
        keras.utils.set_random_seed(0)
        model = average(dropout=dropout)
        fix_weights(model)
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    TrainingRun(folder).fit(
        model, batches, epochs=12, monitor="loss", mode="min", save_every=2, callbacks=callbacks, verbose=0
    )
    return model


def main(folder: str, dropout: str, who: str = "", steps: str = "", seconds: str = "") -> None:
    cluster = distribute.find_cluster()
    index = 0 if cluster is None else cluster.index
    model = train(Path(folder) / "cut", float(dropout), (Die(int(steps), seconds),) if who == str(index) else ())
    if not who:
        whole = train(Path(folder) / "whole", float(dropout))
        for name, trained in (("cut", model), ("whole", whole)):
            np.savez(Path(folder) / f"{name}-{index}.npz", *trained.get_weights())


if __name__ == "__main__":
    main(*sys.argv[1:])
