"""Checks whether rows of a study can be compared: complete, with equal code and data, and set as the file says."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks import study_statistics
from benchmarks.study import PATHS, Line, Study, chosen_value

FEWEST_SEEDS = 3
# Settings that may differ although no row names them: the seed, and settings that depend on it or on the machine.
_FREE = {"seed"}
# Settings that change the vocabulary, which is a part of the fingerprint `data`.
_OF_THE_VOCABULARY = {"min_count", "split_words", "tokenizer", "max_length", "vectors", "cased"}


def chosen_runs(study: Study, lines: Sequence[Line], row: str, data: str) -> dict[int, Line]:
    """Return the trainings of a row with its chosen value, by seed."""
    value = chosen_value(study, list(lines), row, data) if study.search else None
    if study.search and value is None:
        return {}
    return {line["seed"]: line for line in lines if (line["row"], line["data"], line["value"]) == (row, data, value)}


def unfair(
    study: Study, lines: Sequence[Line], row: str, data: Sequence[str], baseline: str | None = None
) -> str | None:
    """Return the reason why a row and another one cannot be compared on data sets, or None if they can.

    The other row is the baseline of the study, unless another one is given. The trainings of the search are checked,
    too, because they decide which value a row gets.
    """
    rows = (row, baseline or study.baseline)
    for name in data:
        one, other = (chosen_runs(study, lines, of, name) for of in rows)
        if not one or not other:
            return "the search or a row is incomplete"
        if set(one) != set(other) or set(one) != set(study.seeds):
            return f"{len(one)} and {len(other)} of {len(study.seeds)} seeds are done"
        if len(one) < FEWEST_SEEDS:
            return f"fewer than {FEWEST_SEEDS} seeds"
    compared = [line for line in lines if line["row"] in rows and line["data"] in data]
    return next(_problems(study, compared), None)


def _problems(study: Study, lines: Sequence[Line]) -> Iterator[str]:
    trainings = Counter((line["row"], line["data"], line["seed"], line["value"]) for line in lines)
    if most := [" ".join(map(str, training)) for training, count in trainings.items() if count > 1]:
        yield f"several lines for one training ({most[0]})"
    if any(line["commit"] is None or line["commit"].endswith("+") for line in lines):
        yield "a training does not name a commit"
    for name in ("commit", "conditions"):
        if any(line[name] != lines[0][name] for line in lines):
            yield {"commit": "different code", "conditions": "different machines or versions"}[name]
    for data in {line["data"]: None for line in lines}:
        of_data = [line for line in lines if line["data"] == data]
        for name, what in {"split": "splits of the data", "test_part": "test splits"}.items():
            if any(line[name] != of_data[0][name] for line in of_data):
                yield f"different {what}"
        if names := unequal_settings(study, of_data):
            yield f"different settings: {', '.join(names)}"
    for line in lines:
        if names := unlike_the_file(study, line):
            yield f"settings other than in the study's file: {', '.join(names)}"
        if line["items"] is not None:
            score = float(study_statistics.score(np.array(line["items"], "float64")))
            if abs(score - line["test_score"]) > 1e-6:
                yield f"a test score of {line['test_score']:.6f}, but {score:.6f} by the test items"
    last = sum(line["best_epoch"] == line["epochs"] for line in lines)
    if last:
        yield f"{last} of {len(lines)} trainings were best in their last epoch"


def unequal_settings(study: Study, lines: Sequence[Line]) -> list[str]:
    """Return the settings in which trainings differ although neither a row nor the search names them."""
    declared = {option.replace("-", "_") for options in study.rows.values() for option in options}
    declared |= {study.searched.replace("-", "_")} if study.searched else set()
    declared |= {"encoder_options"} if "encoder_option" in declared else set()
    declared |= {"data"} if declared & _OF_THE_VOCABULARY else set()
    declared |= {"units"} if study.options.get("equal-parameters") else set()  # the command chooses them
    recorded = [set(line["settings"]) for line in lines]
    # Encoders have settings of their own, such as the S-LSTM's `window`.
    names = set.intersection(*recorded) if declared & {"encoder", "cell"} else set.union(*recorded)
    return sorted(
        name
        for name in names - declared - _FREE
        if any(line["settings"].get(name) != lines[0]["settings"].get(name) for line in lines)
    )


def unlike_the_file(study: Study, line: Line) -> list[str]:
    """Return the options of the study that its training has recorded with another value."""
    wanted = {**study.options, **study.data[line["data"]], **study.rows[line["row"]]}
    if study.searched is not None:
        wanted[study.searched] = line["value"]
    recorded = {**_options(line.get("command") or ""), **line["settings"]}
    return sorted(
        name
        for name, value in wanted.items()
        if (key := name.replace("-", "_")) in recorded
        and name not in PATHS
        and _words(recorded[key]) != _words(value)
        # A number of epochs that the training has not reached makes no difference.
        and not (name == "epochs" and line["epochs"] < min(value, float(recorded[key][0])))
    )


def _options(command: str) -> dict[str, list[str]]:
    """Return the options of a command line, by name with underscores, and their values."""
    options: dict[str, list[str]] = {}
    for word in shlex.split(command):
        if word.startswith("--"):
            values = options[word[2:].replace("-", "_")] = []
        elif options:
            values.append(word)
    return options


def _words(value: Any) -> list[str]:
    """Return a setting as the words of a command line, in one spelling of numbers and quotes."""
    if isinstance(value, dict):
        value = [f"{name}={number:g}" for name, number in value.items()]
    values = [] if value is True else value if isinstance(value, list) else [value]
    words = []
    for word in map(str, values):
        try:
            words.append(f"{float(word):g}")
        except ValueError:
            words.append(word.replace('"', "").lower())
    return words
