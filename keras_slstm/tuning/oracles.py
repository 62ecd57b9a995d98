"""keras-tuner's oracles, with files that survive a crash: each is replaced by a complete new one.

The oracles also continue when trials fail. All but Hyperband try the defaults first, so that a search shows its gain
over them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_slstm.extras import require
from keras_slstm.files import write_json

keras_tuner = require("keras_tuner", "tuner")
Oracle: Any = keras_tuner.Oracle
RandomSearchOracle: Any = keras_tuner.oracles.RandomSearchOracle
BayesianOptimizationOracle: Any = keras_tuner.oracles.BayesianOptimizationOracle
KerasTunerHyperbandOracle: Any = keras_tuner.oracles.HyperbandOracle
TrialStatus = require("keras_tuner.engine.trial", "tuner").TrialStatus

TUNERS = ("random", "bayesian", "hyperband", "grid")
_ENDED = (TrialStatus.COMPLETED, TrialStatus.FAILED)


def make_oracle(
    tuner: str, objective: str, direction: str, max_trials: int | None, seed: int, epochs: int, factor: int = 3
) -> Any:
    """Make an oracle, which chooses the trials.

    Args:
        tuner: One of `TUNERS`.
        objective: The metric in Keras' logs to maximise or minimise.
        direction: `"max"` or `"min"`.
        max_trials: Number of trials; None, for `"hyperband"` and `"grid"`: as many as these ask for.
        seed: Seed of the random choices.
        epochs: Epochs of a trial; for `"hyperband"`, those of the longest ones.
        factor: For `"hyperband"`: each round keeps one trial in `factor` and trains it for `factor` times the epochs.

    Raises:
        ValueError: If an argument is out of range.
    """
    if tuner not in TUNERS:
        raise ValueError(f"`tuner` must be one of {TUNERS}, but got {tuner!r}.")
    if max_trials is None and tuner in ("random", "bayesian"):
        raise ValueError(f'`max_trials` is needed for tuner="{tuner}".')
    if max_trials is not None and (not isinstance(max_trials, int) or max_trials < 1):
        raise ValueError(f"`max_trials` must be an integer of at least 1, but got {max_trials!r}.")
    if not isinstance(factor, int) or factor < 2:
        raise ValueError(f"`factor` must be an integer of at least 2, but got {factor!r}.")
    options: dict[str, Any] = {
        "objective": keras_tuner.Objective(objective, direction),
        "seed": seed + 1,  # 0 would mean a random seed
        "max_consecutive_failed_trials": sys.maxsize,
    }
    if tuner == "hyperband":
        oracle = HyperbandOracle(max_epochs=epochs, factor=factor, **options)
        oracle.max_trials = max_trials
        return oracle
    if tuner == "bayesian":
        assert max_trials is not None
        return BayesianOracle(max_trials=max_trials, num_initial_points=max(3, max_trials // 3), **options)
    return {"random": RandomOracle, "grid": GridOracle}[tuner](max_trials=max_trials, **options)


class _AtomicFiles:
    """Mixin that replaces an oracle's files by complete new ones, and reloads them after a crash at any moment."""

    def save(self: Any) -> None:
        write_json(self._get_oracle_fname(), self.get_state())

    def _save_trial(self: Any, trial: Any) -> None:
        write_json(Path(self._get_trial_dir(trial.trial_id), "trial.json"), trial.get_state())

    def reload(self: Any) -> None:
        super().reload()  # type: ignore[misc]
        # A crash between two writes leaves a trial that the oracle's own file does not know: that trial starts again.
        # The order is that of their starts, because the first of equally good trials counts as the best.
        self.trials = {trial_id: self.trials[trial_id] for trial_id in self.start_order}
        # In the oracle's file, a trial that has just ended is still marked as running.
        self._retry_queue = [i for i in self._retry_queue if self.trials[i].status not in _ENDED]
        missing = [i for i in self.trials if self.trials[i].status not in _ENDED and i not in self._retry_queue]
        self._retry_queue += missing

    def end_trial(self: Any, trial: Any) -> None:
        # Hyperparameters from a worker have lost the order of the space. The chief's own replace them: they are
        # complete, because all hyperparameters are declared before the first trial.
        trial.hyperparameters = self.trials[trial.trial_id].hyperparameters
        super().end_trial(trial)  # type: ignore[misc]


class _DefaultsFirst(_AtomicFiles):
    """Tries the defaults before anything else."""

    def populate_space(self: Any, trial_id: str) -> dict[str, Any]:
        if not self.trials:
            return {"status": TrialStatus.RUNNING, "values": defaults(self.get_space())}
        return super().populate_space(trial_id)  # type: ignore[misc]


class RandomOracle(_DefaultsFirst, RandomSearchOracle):
    """Draws every trial at random."""


class BayesianOracle(_DefaultsFirst, BayesianOptimizationOracle):
    """Tries the most promising values according to a Gaussian process fitted to past trials, and no values twice."""

    def populate_space(self: Any, trial_id: str) -> dict[str, Any]:
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a process fitted to a few trials ends at its bounds
            found = super().populate_space(trial_id)
        if found["status"] == TrialStatus.RUNNING and self._duplicate(found["values"]):
            values = self._random_values()
            return {"status": TrialStatus.RUNNING if values else TrialStatus.STOPPED, "values": values}
        return found


class HyperbandOracle(_AtomicFiles, KerasTunerHyperbandOracle):
    """Starts many short trials, and continues the best ones."""


class GridOracle(_AtomicFiles, Oracle):
    """Tries all combinations of values. The last hyperparameter changes fastest, and each begins with its default.

    keras-tuner's own grid search does not save its position: see `Search`.
    """

    def populate_space(self: Any, trial_id: str) -> dict[str, Any]:
        for values in combinations(self.get_space()):
            if not self._duplicate(values):
                return {"status": TrialStatus.RUNNING, "values": values}
        return {"status": TrialStatus.STOPPED, "values": None}


def defaults(hp: Any) -> dict[str, Any]:
    """Return the default values of the hyperparameters that are active at the defaults."""
    return next(combinations(hp))


def combinations(hp: Any) -> Iterator[dict[str, Any]]:
    """Yield all combinations of values of the active hyperparameters, each beginning with its default."""
    yield from _combinations(hp, hp.space, {})


def _combinations(hp: Any, space: list[Any], values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if not space:
        yield values
        return
    first, *rest = space
    hp.values = values
    if not hp.is_active(first):
        yield from _combinations(hp, rest, values)
        return
    for value in [first.default, *(other for other in first.values if other != first.default)]:
        yield from _combinations(hp, rest, {**values, first.name: value})
