"""What a run has found: one JSON line a run, in a file that only grows."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_slstm.errors import DataError
from keras_slstm.text.batches import Batches
from keras_slstm.version import __version__


def append_result(path: str | os.PathLike[str], result: dict[str, Any]) -> None:
    """Append a result to a file of JSON lines, with the time, the machine, the versions and the commit.

    The line is written at once. Where a crash has left half a line, the new one does not continue it.

    Args:
        path: The file. It and its folder are created.
        result: What was found, as JSON values.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    line = json.dumps({**result, "conditions": conditions(), "commit": commit(), "time": now}, ensure_ascii=False)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = "\n" + line
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read_results(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read a file that `append_result` has written.

    Raises:
        DataError: If a line is not a JSON object.
    """
    results = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), start=1):
        if line:
            try:
                result = json.loads(line)
            except json.JSONDecodeError as error:
                raise DataError(path, number, f"invalid JSON at column {error.colno}: {error.msg}") from error
            if not isinstance(result, dict):
                raise DataError(path, number, f"a JSON object expected, found {type(result).__name__}")
            results.append(result)
    return results


def conditions() -> dict[str, Any]:
    """The machine and the versions: what a number means nothing without."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), model)
    backend = keras.backend.backend()
    names = {"tensorflow": ["tensorflow"], "jax": ["jax", "jaxlib"], "torch": ["torch"]}[backend]
    return {
        "backend": backend,
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {
            "keras_slstm": __version__,
            **{name: importlib.metadata.version(name) for name in ["keras", "numpy", *names]},
        },
    }


def texts_a_second(model: Any, texts: Sequence[str]) -> float:
    """The speed of a text classifier, in batches of 100, once everything is compiled."""
    batches = model.batches(texts, batch_size=100, shuffle=False)
    model.predict(batches, verbose=0)
    started = time.perf_counter()
    model.predict(batches, verbose=0)
    return len(texts) / (time.perf_counter() - started)


def commit() -> str | None:
    """The commit of the package's checkout, with a `+` if files have changed since; None outside a checkout."""
    folder = Path(__file__).parent
    try:
        run = [
            subprocess.run(
                ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=30
            ).stdout
            for arguments in (("ls-files", "--error-unmatch", Path(__file__).name), ("rev-parse", "--short=12", "HEAD"))
        ]
        status = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no"],
            cwd=folder, capture_output=True, text=True, check=True, timeout=30,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return run[-1].strip() + ("+" if status else "")


def right_by_length(lengths: Sequence[int], right: Sequence[bool]) -> dict[str, list[int]]:
    """For each length of a sentence: how many there are, and how many were classified right."""
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for length, correct in zip(lengths, right, strict=True):
        counts[length][0] += 1
        counts[length][1] += bool(correct)
    return {str(length): counts[length] for length in sorted(counts)}


def mean_and_spread(values: Iterable[float]) -> tuple[float, float]:
    """Mean and standard deviation (of a sample; 0 for a single value)."""
    values = list(values)
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


class Stopwatch(keras.callbacks.Callback):
    """Measures a training: seconds an epoch, and seconds against the padded length of the sentences.

    The first batch of each length, which may wait for a compilation, is left out of the latter.

    Args:
        batches: What the model is trained on.
    """

    def __init__(self, batches: Batches):
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
        """For each padded length: how many sentences were trained on, and in how many seconds."""
        return {str(n): [int(count), seconds] for n, (count, seconds) in sorted(self._by_length.items()) if count}

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epochs.append(0.0)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._started = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        float((logs or {}).get("loss", 0))  # waits for the device
        seconds = time.perf_counter() - self._started
        self._epochs[-1] += seconds
        # A training that resumes in the middle of an epoch has seen the first batches before.
        seen = len(self._batches) - ((self.params or {}).get("steps") or len(self._batches))
        sentences, length = self._batches.shape_of(seen + batch)
        if length in self._by_length:
            self._by_length[length][0] += sentences
            self._by_length[length][1] += seconds
        else:
            self._by_length[length] = [0, 0.0]
