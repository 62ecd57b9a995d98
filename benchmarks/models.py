"""Measures the texts per second of trained classifiers, which run in turn so that their speeds are comparable.

    KERAS_BACKEND=tensorflow python -m benchmarks.models runs/movie_review/* --dataset movie_review --manual-dir PATH \
        --results benchmarks/results/depth.jsonl

Each folder is that of a finished run of `keras-slstm classify`. After it is compiled, every model classifies the test
split of the data set (or a file, `--data`) in batches of 100. The benchmark adds the median over the rounds, and the
machine, to the lines of these runs in `--results`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras

from keras_slstm.datasets.corpus import load_corpus
from keras_slstm.files import complete_file
from keras_slstm.training.results import conditions, read_results
from keras_slstm.training.stopwatch import texts_a_second

# The fields that identify a run.
OF_RUN = ("data", "encoder", "seed", "fold", "command")


def measure(folders: list[Path], texts: list[str], rounds: int) -> dict[Path, float]:
    """Return the median of each model's texts per second."""
    models = {folder: keras.saving.load_model(folder / "model.keras") for folder in folders}
    found: dict[Path, list[float]] = {folder: [] for folder in folders}
    for _ in range(rounds):
        for folder, model in models.items():
            found[folder].append(texts_a_second(model, texts))
    return {folder: statistics.median(speeds) for folder, speeds in found.items()}


def with_speeds(lines: list[dict[str, Any]], speeds: dict[Path, float]) -> list[dict[str, Any]]:
    """Add the texts per second to the lines of the runs in these folders, and return all lines."""
    for folder, speed in speeds.items():
        run = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        of_run = [line for line in lines if all(line.get(name) == run.get(name) for name in OF_RUN)]
        if not of_run:
            raise ValueError(f"There is no line of the run in {folder}.")
        of_run[-1].update(texts_a_second=speed, speed_conditions=conditions())
    return lines


def main() -> int:
    """Measure, print, and write the speeds into the lines of the runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--dataset", help="a data set; the models classify its test split")
    parser.add_argument("--data", help="a file to classify instead")
    parser.add_argument("--data-dir")
    parser.add_argument("--manual-dir")
    parser.add_argument("--results", type=Path, help="the file with the lines of the runs")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if (args.dataset is None) == (args.data is None):
        parser.error("give either --dataset or --data")
    if args.data:
        texts = load_corpus(args.data, test_path=args.data).test.texts
    else:
        texts = load_corpus(args.dataset, data_dir=args.data_dir, manual_dir=args.manual_dir).test.texts
    speeds = measure(args.folders, texts, args.rounds)
    for folder, speed in speeds.items():
        print(f"{speed:8.1f} texts per second: {folder}")
    if args.results:
        lines = with_speeds(read_results(args.results), speeds)
        with complete_file(args.results) as unfinished:
            unfinished.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
