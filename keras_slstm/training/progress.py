"""The progress of a training run: the contents of `progress.json`."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from keras_slstm.files import json_type


@dataclass
class Progress:
    """The progress of a training run.

    Attributes:
        epochs: Number of finished epochs.
        best_epoch: The best of them, counted from 1; 0 if there is none.
        history: For each entry of Keras' logs, a list with one value per finished epoch.
        random_state: The state of the random generators; see `state.random_state`.
        step: Number of finished steps of the current epoch.
        metrics: The state of the metrics after these steps; see `state.metric_values`.
        finished: Whether the run has ended and kept its results, so that it cannot be resumed.
    """

    epochs: int = 0
    best_epoch: int = 0
    history: dict[str, list[float]] = field(default_factory=dict)
    random_state: dict[str, Any] = field(default_factory=dict)
    step: int = 0
    metrics: list[Any] = field(default_factory=list)
    finished: bool = False


def read_progress(values: dict[str, Any]) -> Progress:
    """Check and convert the contents of `progress.json`.

    Args:
        values: The JSON object.

    Raises:
        ValueError: If a value is missing or of the wrong type.
    """
    for entry in fields(Progress):
        if entry.name not in values:
            raise ValueError(f'"{entry.name}" is missing')
        value, model = values[entry.name], getattr(Progress(), entry.name)
        if type(value) is not type(model):
            raise ValueError(f'"{entry.name}" must be {json_type(model)}, but is {json.dumps(value)[:40]}')
    unknown = sorted(set(values) - {entry.name for entry in fields(Progress)})
    if unknown:
        raise ValueError(f'"{unknown[0]}" is unknown to this version')
    progress = Progress(**values)
    if not 0 <= progress.best_epoch <= progress.epochs or progress.step < 0:
        raise ValueError(
            f"epochs={progress.epochs}, best_epoch={progress.best_epoch} and step={progress.step} are inconsistent"
        )
    for name, column in progress.history.items():
        numbers = isinstance(column, list) and all(type(value) in (int, float) for value in column)
        if not numbers or len(column) > progress.epochs:
            raise ValueError(f'"history" must have a list of at most {progress.epochs} numbers for "{name}"')
    return progress


def best_epoch(scores: Iterable[float], mode: str, losses: Iterable[float] = ()) -> int:
    """The epoch with the best score, counted from 1; 0 if no score is finite.

    Ties are broken by the lowest loss, then by the earliest epoch: a small development set gives many equal scores, and
    the first of them belongs to a model that has just begun to learn.

    Args:
        scores: The score of each epoch.
        mode: `"max"` if higher is better, else `"min"`.
        losses: The loss of each epoch; a missing or non-finite loss counts as the worst.

    >>> best_epoch([0.5, float("nan"), 0.7, 0.7], "max")
    3
    >>> best_epoch([0.5, 0.7, 0.7, 0.6], "max", losses=[1.1, 0.9, 0.8, 0.7])
    3
    """
    sign = 1 if mode == "max" else -1
    pairs = itertools.zip_longest(scores, losses, fillvalue=math.inf)
    ranked = [
        (sign * score, -loss if math.isfinite(loss) else -math.inf, -epoch)
        for epoch, (score, loss) in enumerate(pairs, start=1)
        if math.isfinite(score)
    ]
    return -max(ranked)[2] if ranked else 0
