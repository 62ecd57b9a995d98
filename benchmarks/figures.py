"""Plots figures from the recorded results of runs.

    python -m benchmarks.figures runs/results.jsonl --data movie_review --output docs/figures

plots, from runs of `keras-slstm classify`, the accuracy against the sentence length (Zhang, Liu and Song, 2018,
Figure 4a) and the training time against the sentence length (Figure 5).

    python -m benchmarks.figures runs/results.jsonl --data ud_ewt --steps --output docs/figures

plots, from runs of `keras-slstm tag`, the development score against the number of steps (Figure 3).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.names import ENCODERS
from benchmarks.tables import RESULTS, groups
from keras_slstm.extras import require
from keras_slstm.files import complete_file
from keras_slstm.metrics.summaries import mean_and_spread
from keras_slstm.training.results import read_results

NAMES = {
    **ENCODERS,
    "ner: f1": "F1 of names",
    "pos: accuracy": "accuracy of parts of speech",
}


class Point(NamedTuple):
    """A point of a curve, with the standard deviation of its value over the runs."""

    x: float
    y: float
    spread: float


def main() -> None:
    """Plot the figures of one data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the file to which runs append their results")
    parser.add_argument("--data", default="movie_review", help="the data set; `fdu_mtl` combines all its domains")
    parser.add_argument("--encoders", nargs="+", help="(default: all)")
    parser.add_argument("--steps", action="store_true", help="plot the score against the number of steps instead")
    parser.add_argument("--sentences", type=int, default=200, help="sentences per run and bin in the first figure")
    parser.add_argument("--groups", type=int, default=10, help="number of bins in the second figure")
    parser.add_argument("--output", type=Path, default=RESULTS)
    args = parser.parse_args()
    if args.steps:
        found = steps(read_results(args.results), args.data)
        if not found:
            parser.error(f"there is no run on {args.data!r} with a number of steps")
        path = args.output / f"{args.data}-steps.png"
        (label,) = map(readable, found) if len(found) == 1 else ["score"]
        draw(found, path, "steps of the S-LSTM", f"development {label}")
        return

    results = args.results
    by_encoder: dict[str, list[dict[str, Any]]] = {}
    for runs in groups(read_results(results)):
        name = runs[0]["encoder"]
        chosen = runs[0]["data"].split("/")[0] == args.data.split("/")[0] and runs[0]["data"].startswith(args.data)
        if chosen and "right_by_length" in runs[0] and (not args.encoders or name in args.encoders):
            by_encoder.setdefault(name, []).extend(runs)
    if not by_encoder:
        parser.error(f"{results} holds no run on {args.data!r}")

    accuracy = {name: curve(runs, "right_by_length", args.sentences * len(runs)) for name, runs in by_encoder.items()}
    label = "accuracy on the test sentences"
    draw(accuracy, args.output / f"{args.data}-accuracy-by-length.png", "words in a sentence", label)
    seconds = {}
    for name, runs in by_encoder.items():
        per_bin = -(-sum(count for count, _ in merged(runs, "seconds_by_length").values()) // args.groups)
        seconds[name] = curve(runs, "seconds_by_length", per_bin, factor=1e3)
    label = "training: milliseconds per sentence"
    draw(seconds, args.output / f"{args.data}-seconds-by-length.png", "words in a sentence", label)


def merged(runs: list[dict[str, Any]], key: str) -> dict[int, tuple[float, float]]:
    """Return the number of sentences and the sum of the values at each length, over all runs."""
    total: dict[int, tuple[float, float]] = {}
    for run in runs:
        for length, (count, value) in run[key].items():
            before = total.get(int(length), (0, 0))
            total[int(length)] = (before[0] + count, before[1] + value)
    return total


def bins(by_length: dict[int, tuple[float, float]], sentences: float) -> list[list[int]]:
    """Divide the lengths into groups of about `sentences` sentences, from short to long."""
    found: list[list[int]] = []
    group: list[int] = []
    count, left = 0.0, sum(n for n, _ in by_length.values())
    for length, (n, _) in sorted(by_length.items()):
        group, count, left = [*group, length], count + n, left - n
        if left == 0 or (count >= sentences and left >= sentences / 2):  # the rest is large enough for a bin
            found.append(group)
            group, count = [], 0.0
    return found


def curve(runs: list[dict[str, Any]], key: str, sentences: float, factor: float = 1.0) -> list[Point]:
    """Return the mean length, the mean value and its standard deviation over the runs, for groups of lengths."""
    together = merged(runs, key)
    points = []
    for group in bins(together, sentences):
        count = sum(together[length][0] for length in group)
        words = sum(length * together[length][0] for length in group)
        values = []
        for run in runs:
            found = [run[key][str(length)] for length in group if str(length) in run[key]]
            if found:
                values.append(factor * sum(value for _, value in found) / sum(n for n, _ in found))
        points.append(Point(words / count, *mean_and_spread(values)))
    return points


def steps(results: list[dict[str, Any]], data: str) -> dict[str, list[Point]]:
    """Return the mean and spread of the runs' best development scores, F1 or accuracy, by the number of steps."""
    scores: dict[str, dict[int, list[float]]] = {}
    for run in results:
        if run["data"] == data and "steps" in run["settings"]:
            measure = "f1" if "f1" in run["development"] else "accuracy"
            by_steps = scores.setdefault(f"{run['task']}: {measure}", {})
            by_steps.setdefault(run["settings"]["steps"], []).append(run["development"][measure])
    return {
        name: [Point(n, *mean_and_spread(values)) for n, values in sorted(found.items())]
        for name, found in scores.items()
    }


def readable(name: str) -> str:
    """Return the name of an encoder or a metric as papers write it."""
    return " + ".join(NAMES.get(part, part.replace("_", " ")) for part in name.split(" + "))


def draw(lines: dict[str, list[Point]], path: Path, across: str, up: str) -> None:
    """Plot a line for each name, with a band of one standard deviation over the runs on either side."""
    figure = require("matplotlib.figure", "plots").Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, points in sorted(lines.items()):
        x, y, spread = (np.array(column) for column in zip(*points))
        (line,) = axes.plot(x, y, marker="o", markersize=3, label=readable(name))
        axes.fill_between(x, y - spread, y + spread, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set(xlabel=across, ylabel=up)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    if len(lines) > 1:
        figure.legend(loc="outside right upper", frameon=False)
    with complete_file(path) as unfinished:
        figure.savefig(unfinished, dpi=120)


if __name__ == "__main__":
    main()
