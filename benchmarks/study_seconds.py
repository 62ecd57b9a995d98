"""Times the models of a study: `python -m benchmarks.study_seconds FILE`, on an idle machine, after the trainings.

For each data set, the model of every row with the first seed reads up to 1,000 examples of the test part. The rows take
turns, so that a change in the machine's speed affects all of them. The medians are appended to the file beside the
results that ends in `.seconds.jsonl`, and `benchmarks/study_report.py` shows them.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.study import Line, Study, Training, chosen_value, lines_of, read_study, run_folder
from keras_slstm.training.results import append_result, read_results

MOST = 1000  # examples


def seconds_of(study: Study) -> dict[tuple[str, str], float]:
    """The seconds per 1,000 examples by data set and row, from the latest measurement with the present settings."""
    path = _path(study)
    lines = read_results(path) if path.exists() else []
    recipes = {Training(study, row, data, study.seeds[0], None).recipe for row in study.rows for data in study.data}
    return {(line["data"], line["row"]): line["seconds"] for line in lines if line["recipe"] in recipes}


def measure(study: Study, data: str, work: Path, rounds: int) -> list[Line]:
    """The lines of one data set.

    Raises:
        ValueError: If a row has no training yet.
    """
    from benchmarks import timing

    steps: dict[tuple[str, str], timing.Step] = {}
    examples = 0
    for row in study.rows:
        value = chosen_value(study, lines_of(study), row, data) if study.search else None
        folder = run_folder(Training(study, row, data, study.seeds[0], value), work)
        if not (folder / "model.keras").exists():
            raise ValueError(f"{folder} contains no model of {row!r} on {data!r}: run the study with this --work first")
        steps[row, data], examples = _reading(folder)
    taken = timing.in_turn(steps, rounds)
    return [
        {
            "row": row,
            "data": data,
            "recipe": Training(study, row, data, study.seeds[0], None).recipe,
            "examples": examples,
            "rounds": rounds,
            "seconds": 1000 / examples * statistics.median(seconds),
            "fastest": 1000 / examples * min(seconds),
            "slowest": 1000 / examples * max(seconds),
        }
        for (row, _), seconds in taken.items()
    ]


def _reading(folder: Path) -> tuple[Callable[[], Any], int]:
    """A function in which a saved model reads the examples of its test part, and their number."""
    import keras

    import keras_slstm

    model = keras.saving.load_model(folder / "model.keras", compile=False)
    with open(folder / "predictions.tsv", encoding="utf-8", newline="") as file:
        heads, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    if isinstance(model, keras_slstm.SequenceTagger):
        sentences: dict[str, list[str]] = {}
        for row in rows:
            sentences.setdefault(row[0], []).append(row[1])
        words = list(sentences.values())[:MOST]
        return lambda: model.tag(words), len(words)
    if isinstance(model, keras_slstm.Seq2Seq):
        texts = [row[0] for row in rows[:MOST]]
        return lambda: model.translate(texts), len(texts)
    if isinstance(model, keras_slstm.SentencePairClassifier):
        pairs = [(row[-2], row[-1]) for row in rows[:MOST]]
        read = model.score if heads[0] == "score" else model.classify
        return lambda: read(pairs), len(pairs)
    texts = [row[-1] for row in rows[:MOST]]
    return lambda: model.classify(texts), len(texts)


def _path(study: Study) -> Path:
    return study.results.with_suffix(".seconds.jsonl")


def main() -> int:
    """Time the studies that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="+", type=Path, metavar="FILE", help="studies")
    parser.add_argument("--work", type=Path, default=Path("runs/studies"), help="folder of the trainings")
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    arguments = parser.parse_args()
    try:
        for path in arguments.studies:
            study = read_study(path)
            for data in study.data:
                for line in measure(study, data, arguments.work, arguments.rounds):
                    append_result(_path(study), line)
                    print(f"{data}, {line['row']}: {line['seconds']:.2f} s per 1,000 examples", flush=True)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
