"""Compare the best hyperparameters of a search with the defaults, on examples that the search has not seen."""

from __future__ import annotations

import json
import statistics
from typing import Any

from keras_slstm.extras import require
from keras_slstm.files import write_json
from keras_slstm.training.compile_once import compile_once
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.tuning.records import CONFIRMATION, best_trial, drop_models, read_record
from keras_slstm.tuning.search import Search
from keras_slstm.tuning.trial import TrialFailure, train_apart


def confirm(search: Search, test: Any, number: int = 3) -> dict[str, Any]:
    """Train the best and the default hyperparameters of a finished search again, and measure both on the test set.

    The best trial owes part of its score to luck with its seed and with the development examples, which selected it.
    The new runs therefore use seeds that the search has not used, the same for both settings, and are measured on other
    examples. Each runs in a new process, for at most the epochs of the search, and keeps the weights of its best epoch
    on the development examples. Call this function again after an interruption: it continues after the last finished
    epoch.

    Args:
        search: The search.
        test: Examples that the search has not seen, such as `corpus.test`.
        number: Number of training runs with each of the two settings.

    Returns:
        The contents of `confirmation.json` in the folder of the search: `objective`; `seeds`; `configurations`, a list
        of `best` and `default` (`default` alone if the search found nothing better), each with its `name`, `trial`
        (None for `default`), `settings`, `parameters`, `seconds_per_epoch`, and the objective with each seed on the
        development examples (`development`) and on the test examples (`test`).

    Raises:
        ValueError: If `number` is not a positive integer, or the search has no successful trial yet.
        RuntimeError: If a training run fails.
        OSError: If the disk is full, or another process trains in the folder.

    Example:

    ```python
    search.search()
    found = confirm(search, corpus.test)
    {each["name"]: each["test"] for each in found["configurations"]}  # {"best": [0.93, ...], "default": [0.91, ...]}
    ```
    """
    if not isinstance(number, int) or number < 1:
        raise ValueError(f"`number` must be an integer of at least 1, but got {number!r}.")
    best = best_trial(search.folder)
    record = None if best is None else read_record(search.folder / f"trial_{best}")
    if record is None:
        raise ValueError(f"{search.folder} has no successful trial yet. Run the search first.")
    # Hyperband's `tuner/trial_id` names the trial to continue. Here every training starts at its first epoch.
    values = {name: value for name, value in record["values"].items() if not name.startswith("tuner/")}
    hp = require("keras_tuner", "tuner").HyperParameters()
    defaults = json.loads(json.dumps(search.hypermodel.settings(hp)))  # comparable with the record, read from JSON
    configurations = [] if defaults == record["settings"] else [("best", best, values)]
    configurations.append(("default", None, hp.values))
    first = max(search.seeds) + 1
    seeds = list(range(first, first + number))
    found = {
        "objective": search.hypermodel.objective,
        "seeds": seeds,
        "configurations": [
            {"name": name, "trial": trial, **_measure(search, name, trial, values, seeds, test)}
            for name, trial, values in configurations
        ],
    }
    write_json(search.folder / CONFIRMATION, found)
    return found


def _measure(
    search: Search, name: str, trial: str | None, values: dict[str, Any], seeds: list[int], test: Any
) -> dict[str, Any]:
    """Train with each seed, and collect the results."""
    # An earlier call may have left the results of another best trial or of other examples in another folder.
    examples = fingerprint(*(map(str, column) for column in vars(test).values()))
    folder = search.folder / f"confirmation-{examples}" / (name if trial is None else f"trial_{trial}")
    runs = []
    with compile_once():
        for seed in seeds:
            try:
                runs.append(train_apart(search.training(values, seed, folder, test)))
            except TrialFailure as failure:
                reason = f"The training of the {name} settings with seed {seed} has failed: {failure}"
                raise RuntimeError(reason) from None
    drop_models(folder)
    times = [run["seconds_per_epoch"] for run in runs if run["seconds_per_epoch"] is not None]
    return {
        "settings": runs[0]["settings"],
        "parameters": runs[0]["parameters"],
        "seconds_per_epoch": statistics.fmean(times) if times else None,
        "development": [run["score"] for run in runs],
        "test": [run["test"] for run in runs],
    }
