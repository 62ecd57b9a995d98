"""Pictures of the runs of the scripts, from the lines that they have written.

    python -m benchmarks.figures runs/results.jsonl --data movie_review --output docs/figures

draws, from runs of `examples/classify_text.py`, the accuracy against the length of the sentences (Zhang, Liu and Song,
2018, Figure 4a) and the time of training against it (Figure 5);

    python -m benchmarks.figures runs/results.jsonl --data ud_ewt --steps --output docs/figures

from runs of `examples/tag_text.py`, the development score against the number of steps (Figure 3).
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

from benchmarks.tables import RESULTS, groups
from keras_slstm.extras import require
from keras_slstm.files import complete_file
from keras_slstm.training.results import read_results


def main() -> None:
    """Draw both pictures for one data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", type=Path, help="(those in the repository)")
    parser.add_argument("--data", default="movie_review", help="the data set; `fdu_mtl` takes all its domains together")
    parser.add_argument("--encoders", nargs="+", help="by default all")
    parser.add_argument("--steps", action="store_true", help="the picture of the number of steps")
    parser.add_argument("--sentences", type=int, default=80, help="in a bin of the first picture, of one run")
    parser.add_argument("--groups", type=int, default=10, help="equal groups of sentences in the second picture")
    parser.add_argument("--output", type=Path, default=RESULTS)
    args = parser.parse_args()
    if args.steps:
        found = steps(read_results(args.results or RESULTS / "tagging-steps.jsonl"), args.data)
        if not found:
            parser.error(f"there is no run on {args.data!r} with a number of steps")
        path = args.output / f"{args.data}-steps.png"
        draw(found, path, "steps of the S-LSTM", "development score")
        return

    results = args.results or RESULTS / "classification.jsonl"
    by_encoder: dict[str, list[dict[str, Any]]] = {}
    for runs in groups(read_results(results)):
        name = runs[0]["encoder"]
        chosen = runs[0]["data"].split("/")[0] == args.data.split("/")[0] and runs[0]["data"].startswith(args.data)
        if chosen and "right_by_length" in runs[0] and (not args.encoders or name in args.encoders):
            by_encoder.setdefault(name, []).extend(runs)
    if not by_encoder:
        parser.error(f"{results} holds no run on {args.data!r}")

    accuracy = {
        name: bins(merged(runs, "right_by_length"), args.sentences * len(runs)) for name, runs in by_encoder.items()
    }
    label = "share of the test sentences that are right"
    draw(accuracy, args.output / f"{args.data}-accuracy-by-length.png", "words in a sentence", label)
    seconds = {}
    for name, runs in by_encoder.items():
        by_length = merged(runs, "seconds_by_length")
        per_bin = -(-sum(count for count, _ in by_length.values()) // args.groups)
        seconds[name] = [(length, 1e3 * value) for length, value in bins(by_length, per_bin)]
    label = "training: milliseconds a sentence"
    draw(seconds, args.output / f"{args.data}-seconds-by-length.png", "words in a sentence", label)


def merged(runs: list[dict[str, Any]], key: str) -> dict[int, tuple[float, float]]:
    """Number of sentences and sum of values at each length, over all runs."""
    total: dict[int, tuple[float, float]] = {}
    for run in runs:
        for length, (count, value) in run[key].items():
            before = total.get(int(length), (0, 0))
            total[int(length)] = (before[0] + count, before[1] + value)
    return total


def bins(by_length: dict[int, tuple[float, float]], sentences: float) -> list[tuple[float, float]]:
    """Mean length and mean value of groups of about `sentences` sentences, from short to long."""
    found: list[tuple[float, float]] = []
    count = words = value = 0.0
    left = sum(n for n, _ in by_length.values())
    for length, (n, v) in sorted(by_length.items()):
        count, words, value, left = count + n, words + n * length, value + v, left - n
        if left == 0 or (count >= sentences and left >= sentences / 2):  # what is left makes a bin, too
            found.append((words / count, value / count))
            count = words = value = 0.0
    return found


def steps(results: list[dict[str, Any]], data: str) -> dict[str, list[tuple[float, float]]]:
    """The best development score of each run, F1 or accuracy, against its number of steps: the mean over the seeds."""
    scores: dict[str, dict[int, list[float]]] = {}
    for run in results:
        if run["data"] == data and "steps" in run["settings"]:
            measure = "f1" if "f1" in run["development"] else "accuracy"
            by_steps = scores.setdefault(f"{run['task']}: {measure}", {})
            by_steps.setdefault(run["settings"]["steps"], []).append(run["development"][measure])
    return {
        name: [(n, statistics.fmean(values)) for n, values in sorted(found.items())] for name, found in scores.items()
    }


def draw(lines: dict[str, list[tuple[float, float]]], path: Path, across: str, up: str) -> None:
    """One line for each name."""
    figure = require("matplotlib.figure", "plots").Figure(figsize=(6.5, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, points in sorted(lines.items()):
        axes.plot(*zip(*points), marker="o", markersize=3, label=name)
    axes.set(xlabel=across, ylabel=up)
    axes.grid(alpha=0.3)
    axes.legend()
    with complete_file(path) as unfinished:
        figure.savefig(unfinished, dpi=120)


if __name__ == "__main__":
    main()
