"""A process of a training by a TrainingRun that is killed: `python -m tests.distribute.dying FOLDER WHO SECONDS`.

Process number WHO (-1: none) ends itself that long after its first step; `stop` instead of a number of seconds makes
it hang after three steps.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_slstm import distribute
from keras_slstm.data.batches import TextBatches
from keras_slstm.training import TrainingRun
from tests.distribute.programs import average, fix_weights, sentences


class Die(keras.callbacks.Callback):
    def __init__(self, when: str):
        super().__init__()
        self.when = when
        self.steps = 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.steps += 1
        if self.when == "stop" and self.steps == 3:
            os.kill(os.getpid(), signal.SIGSTOP)
        elif self.when != "stop" and self.steps == 1:
            timer = threading.Timer(float(self.when), os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()


def train(folder: str | os.PathLike[str], callbacks: tuple[keras.callbacks.Callback, ...] = ()) -> keras.Model:
    """A model with dropout, on batches in an order that depends on the epoch."""
    ids, labels, _ = sentences(30)
    batches = TextBatches([row[row > 0].tolist() for row in ids], labels, batch_size=4, multiple_of=2)
    with distribute.strategy(timeout=30.0).scope():
        keras.utils.set_random_seed(0)
        model = average(dropout=0.3)
        fix_weights(model)
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    TrainingRun(folder).fit(
        model, batches, epochs=12, monitor="loss", mode="min", save_every=2, callbacks=callbacks, verbose=0
    )
    return model


if __name__ == "__main__":
    folder, who, when = sys.argv[1:]
    cluster = distribute.find_cluster()
    index = 0 if cluster is None else cluster.index
    model = train(folder, (Die(when),) if index == int(who) else ())
    np.savez(Path(folder) / f"weights-{index}.npz", *model.get_weights())
