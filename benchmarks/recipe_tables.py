"""The tables of `benchmarks.recipes`: what changes where one setting differs from the defaults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from keras_slstm.metrics.summaries import mean_and_spread

Line = Mapping[str, Any]


def differences(lines: Sequence[Line]) -> str:
    """Test accuracy of each changed setting beside that of the defaults, and the mean of the paired differences.

    Only seeds count that both have, under the same data, encoder, number of updates, backend and commit. The command
    is that of the first seed of the changed setting.
    """
    rows = [
        "| data | encoder | changed | changed: test | defaults: test | difference | seeds | updates | command |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for place, by_name in _grouped(lines).items():
        defaults = by_name.get("default", {})
        for name, runs in by_name.items():
            seeds = sorted(set(runs) & set(defaults))
            if name == "default" or not seeds:
                continue
            changed, before = ([100 * of[seed]["test_accuracy"] for seed in seeds] for of in (runs, defaults))
            by = [one - other for one, other in zip(changed, before)]
            first = runs[seeds[0]]
            cells = [
                _mean(changed),
                _mean(before),
                _mean(by, "+"),
                str(len(seeds)),
                str(first["updates"]),
                _command(first),
            ]
            rows.append(f"| {place[0]} | {place[1]} | {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def encoders(lines: Sequence[Line]) -> str:
    """The encoders under the defaults: test accuracy, seeds, updates, and the command of the first seed."""
    rows = [
        "| data | encoder | development | test | seeds | updates | best round of | command |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for place, by_name in _grouped(lines).items():
        runs = list(by_name.get("default", {}).values())
        if not runs:
            continue
        scores = [_mean([100 * run[f"{part}_accuracy"] for run in runs]) for part in ("development", "test")]
        rounds = ", ".join(f"{run['best_round']} of {run['rounds']}" for run in runs)
        cells = [*scores, str(len(runs)), str(runs[0]["updates"]), rounds, _command(runs[0])]
        rows.append(f"| {place[0]} | {place[1]} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _grouped(lines: Sequence[Line]) -> dict[tuple[str, ...], dict[str, dict[int, Line]]]:
    grouped: dict[tuple[str, ...], dict[str, dict[int, Line]]] = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        data = line["data"] + (f", fold {line['fold']}" if line["fold"] else "")
        data += f", {line['limit']:,} texts" if line["limit"] else ""
        data += f", {line['vectors']}" if line["vectors"] else ", no vectors"
        place = (data, line["encoder"], str(line["updates_asked"]), line["backend"], line["commit"])
        grouped[place][line["name"]][line["seed"]] = line
    return grouped


def _mean(values: Sequence[float], sign: str = "") -> str:
    mean, spread = mean_and_spread(values)
    return f"{mean:{sign}.1f} ± {spread:.1f}" if len(values) > 1 else f"{mean:{sign}.1f}"


def _command(line: Line) -> str:
    """The command that repeats a training, and appends its line to a file."""
    return f"`KERAS_BACKEND={line['backend']} {line['command']} --results PATH`"
