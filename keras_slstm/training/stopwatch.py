"""Speed of training and of trained models."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import keras

from keras_slstm.text.epochs import SeededEpochs


class Stopwatch(keras.callbacks.Callback):
    """Measures the seconds per epoch, and the seconds per padded length of the sentences.

    The latter exclude the first batch of each length, which may include compilation.

    Args:
        batches: The batches to train on.
    """

    def __init__(self, batches: SeededEpochs):
        super().__init__()
        self._batches = batches
        self._epochs: list[float] = []
        self._by_length: dict[int, list[float]] = {}
        self._started = 0.0

    @property
    def seconds_per_epoch(self) -> float | None:
        """Median over the epochs; None before the first."""
        return statistics.median(self._epochs) if self._epochs else None

    @property
    def seconds_by_length(self) -> dict[str, list[float]]:
        """For each padded length, the number of sentences and the number of seconds."""
        return {str(n): [int(count), seconds] for n, (count, seconds) in sorted(self._by_length.items()) if count}

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epochs.append(0.0)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._started = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        float((logs or {}).get("loss", 0))  # waits for the device
        seconds = time.perf_counter() - self._started
        self._epochs[-1] += seconds
        # A run that resumes within an epoch skips its first batches.
        seen = len(self._batches) - ((self.params or {}).get("steps") or len(self._batches))
        sentences, length = self._batches.shape_of(seen + batch)
        if length in self._by_length:
            self._by_length[length][0] += sentences
            self._by_length[length][1] += seconds
        else:
            self._by_length[length] = [0, 0.0]


def texts_a_second(model: Any, texts: Sequence[str]) -> float:
    """Texts per second of a text classifier in batches of 100, excluding compilation."""
    batches = model.batches(texts, batch_size=100, shuffle=False)
    model.predict(batches, verbose=0)
    started = time.perf_counter()
    model.predict(batches, verbose=0)
    return len(texts) / (time.perf_counter() - started)
