"""Progress output of training: one line per epoch and, on a terminal, a bar with the remaining time."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

import keras
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_NAMES = {"f1": "F1", "bleu": "BLEU", "pearson": "Pearson correlation"}


class EpochLines(keras.callbacks.Callback):
    """Prints a line after each epoch: loss, scores, seconds, and an upper bound for the remaining time.

    As a context manager, it also shows a progress bar of the steps, if standard output is a terminal.

    Args:
        epochs: Maximum number of epochs.
        steps: Number of steps per epoch.
        monitor: The score whose best value is marked.
        before: The history of earlier epochs.
    """

    def __init__(self, epochs: int, steps: int, monitor: str, before: Mapping[str, Sequence[float]]):
        super().__init__()
        self._epochs = epochs
        self._steps = steps
        self._monitor = monitor
        losses = before.get("val_loss") or before.get("loss", ())
        scored = zip(before.get(monitor, ()), (-loss for loss in losses))
        self._best = max(scored, default=(float("-inf"), float("-inf")))
        self._started = 0.0
        self._bar: Progress | None = None
        if sys.stdout.isatty():
            parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*parts, console=Console(), transient=True)
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._started = time.perf_counter()
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            steps = (self.params or {}).get("steps") or self._steps  # fewer if an epoch is resumed
            self._task = self._bar.add_task(f"Epoch {epoch + 1}/{self._epochs}", total=steps)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=batch + 1)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, float] | None = None) -> None:
        seconds = time.perf_counter() - self._started
        values = dict(logs or {})
        words = [f"Epoch {epoch + 1}/{self._epochs}"]
        words += [f"{readable(name)} {value:.4f}" for name, value in values.items() if name != "learning_rate"]
        # As in `TrainingRun`: among equal scores, the lower loss wins.
        score = (values.get(self._monitor, float("-inf")), -values.get("val_loss", values.get("loss", 0.0)))
        if score > self._best:
            self._best = score
            words.append("best so far")
        words.append(duration(seconds))
        left = self._epochs - epoch - 1
        if left:
            words.append(f"at most {duration(left * seconds)} left")
        line = "  ".join(words)
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)
        else:
            print(line, flush=True)


def readable(name: str) -> str:
    """An entry of Keras' logs in words.

    >>> readable("val_accuracy"), readable("val_f1")
    ('development accuracy', 'development F1')
    """
    measure = name.removeprefix("val_")
    words = _NAMES.get(measure, measure.replace("_", " "))
    return words if measure == name else f"development {words}"


def duration(seconds: float) -> str:
    """A duration in readable form.

    >>> [duration(0.4), duration(75), duration(7000)]
    ['0.4 s', '1.2 min', '1.9 h']
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
