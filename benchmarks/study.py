"""Runs a study, which compares encoders or settings while everything else stays equal.

    python -m benchmarks.study benchmarks/studies/travel_requests.toml
    python -m benchmarks.study benchmarks/studies/slstm_trec.toml --root PATH  # PATH: original files, word vectors

A study is a TOML file with the command and its options, the data sets, the rows with their own options, the seeds, the
baseline row, and optionally one option with the values from which each row chooses on development data. All rows get
the same data, seeds, updates and number of values. `benchmarks/study_report.py` makes the table, and refuses unfair
comparisons.

Each training runs a `keras-slstm` command in a separate process and adds a line to `benchmarks/results/studies`.
Trainings that have a line are not repeated, and interrupted ones resume.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.study_transfer import task_scores
from keras_slstm.files import read_json
from keras_slstm.text.tag_schemes import detect_scheme, tags_to_spans
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.training.results import append_result, commit, read_results
from keras_slstm.training.run_folder import RunFolder

RESULTS = Path(__file__).parent / "results" / "studies"
EXPECTED = ("better", "worse", "no difference")  # of a claim
PATHS = ("data", "dev-data", "test-data", "manual-dir", "vectors")  # options with paths relative to --root
Options = dict[str, Any]
Line = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """The contents of a study file.

    Attributes:
        name: The name of the file without its extension.
        question: The question that the study answers.
        command: The command of `keras-slstm`: classify, tag, match, embed or translate.
        measure: The metric, such as `accuracy` or `f1`, or `f1 MISC` for the spans of one type.
        data: The data sets, each with its options.
        options: The options of all trainings.
        rows: The options in which the rows differ, by the name of the row.
        baseline: The row to which the others are compared.
        seeds: The seeds of each row.
        search: The option that each row chooses on development data, and its values.
        search_seeds: With how many of the seeds each row tries each value. It chooses by the mean development score.
        claims: Claims of papers: `row`, `paper` (the source), `says`, `expects` ("better", the default, "worse" or "no
            difference", compared with the baseline or the row `against`), and `data` (one of the data sets, if the
            claim is not about all of them), `average = true` (about the average over data sets) or `transfer = true`
            (about the average over the tasks of `embed`).
        lengths: Numbers of words that divide the test items into groups, each compared separately.
        pairs: Further pairs of rows to compare, none of them the baseline.
    """

    name: str
    question: str
    command: str
    measure: str
    data: dict[str, Options]
    options: Options
    rows: dict[str, Options]
    baseline: str
    seeds: list[int]
    search: dict[str, list[float]] = field(default_factory=dict)
    search_seeds: int = 1
    claims: list[dict[str, Any]] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    pairs: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for problem, wrong in {
            f"the baseline {self.baseline!r} is not a row": self.baseline not in self.rows,
            "there are fewer than two rows": len(self.rows) < 2,
            "there is no seed": not self.seeds,
            "a seed occurs twice": len(set(self.seeds)) < len(self.seeds),
            "[search] takes one option with a list of values": len(self.search) > 1 or not all(self.search.values()),
            f"`search_seeds` must be 1 to {len(self.seeds)}": not 1 <= self.search_seeds <= len(self.seeds),
            "`lengths` must increase": any(low >= high for low, high in itertools.pairwise(self.lengths)),
            "a pair is not one of two rows": any(
                len(pair) != 2 or any(row not in self.rows for row in pair) for pair in self.pairs
            ),
            "a claim names a row that does not exist": any(
                row not in self.rows
                for claim in self.claims
                for row in (claim["row"], claim.get("against", self.baseline))
            ),
            "a claim names a data set that does not exist": any(
                claim.get("data") not in (None, *self.data) for claim in self.claims
            ),
            "a claim is about transfer, but there are no `tasks`": not self.tasks
            and any(claim.get("transfer") for claim in self.claims),
            f"a claim expects {', '.join(EXPECTED)}": any(
                claim.get("expects", "better") not in EXPECTED for claim in self.claims
            ),
        }.items():
            if wrong:
                raise ValueError(f"study {self.name}: {problem}")

    @property
    def results(self) -> Path:
        """The file with one line per training."""
        return RESULTS / f"{self.name}.jsonl"

    @property
    def tasks(self) -> list[str]:
        """The tasks on which `embed` tests the frozen sentence vectors."""
        return self.options.get("tasks", []) if self.command == "embed" else []

    @property
    def searched(self) -> str | None:
        """The option that each row chooses."""
        return next(iter(self.search), None)


@dataclass(frozen=True)
class Training:
    """One training of a study."""

    study: Study
    row: str
    data: str
    seed: int
    value: float | None  # of the searched option

    @property
    def key(self) -> Line:
        """The fields that identify the training. They change if the options of the study change."""
        key = {"row": self.row, "data": self.data, "seed": self.seed, "value": self.value}
        return {**key, "recipe": self.recipe}

    @property
    def recipe(self) -> str:
        """A fingerprint of the command and its options, without the seed and the searched value."""
        study = self.study
        recipe = [study.command, repr(study.options), repr(study.data[self.data]), repr(study.rows[self.row])]
        return fingerprint(recipe)

    def words(self, root: Path) -> list[str]:
        """Return the arguments of the command, without the output folder."""
        study = self.study
        options = {**study.options, **study.data[self.data], **study.rows[self.row]}
        options = {name: str(root / value) if name in PATHS else value for name, value in options.items()}
        if study.searched is not None:
            options[study.searched] = self.value
        words = [study.command]
        for name, value in {**options, "seed": self.seed}.items():
            if value is not False and value is not None:
                values = value if isinstance(value, list) else [value]
                words += [f"--{name}", *([] if value is True else map(str, values))]
        return words


def read_study(path: Path) -> Study:
    """Read a study.

    Raises:
        ValueError: If the file is not a complete study. The message names it.
    """
    try:
        return Study(path.stem, **tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from error


def lines_of(study: Study) -> list[Line]:
    """Return the recorded trainings of the study in its current form."""
    lines = read_results(study.results) if study.results.exists() else []
    return [
        line
        for line in lines
        if line["row"] in study.rows
        and line["data"] in study.data
        and line.get("measure", study.measure) == study.measure
        and line["recipe"] == Training(study, line["row"], line["data"], line["seed"], line["value"]).recipe
    ]


def chosen_value(study: Study, lines: list[Line], row: str, data: str) -> float | None:
    """Return the value with the best mean development score, or None if the search is incomplete."""
    found = {
        (line["value"], line["seed"]): line["development_score"]
        for line in lines
        if (line["row"], line["data"]) == (row, data)
    }
    values, seeds = next(iter(study.search.values())), study.seeds[: study.search_seeds]
    if not set(itertools.product(values, seeds)) <= set(found):
        return None
    # Of equal means the first; rounded, because the scores are float32.
    return max(values, key=lambda value: round(statistics.fmean(found[value, seed] for seed in seeds), 6))


def trainings(study: Study) -> Iterator[Training]:
    """Yield the trainings in order: for each data set and row, first the search, then the other seeds."""
    searching = study.search_seeds if study.search else 0
    for data in study.data:
        for row in study.rows:
            value = None
            if study.search:
                for tried, seed in itertools.product(next(iter(study.search.values())), study.seeds[:searching]):
                    yield Training(study, row, data, seed, tried)
                value = chosen_value(study, lines_of(study), row, data)
            for seed in study.seeds[searching:]:
                yield Training(study, row, data, seed, value)


def training_folder(training: Training, work: Path) -> Path:
    """The folder of a training below that of all trainings."""
    return work / training.study.name / fingerprint([repr(training.key)])


def run_folder(training: Training, work: Path) -> Path:
    """The folder of the run itself: of a fold, the command makes a folder within that of the training."""
    folder = training_folder(training, work)
    return next((results.parent for results in folder.glob("*/results.json")), folder)


def train(training: Training, root: Path, work: Path) -> Line:
    """Train or resume, and return the line of results.

    Raises:
        subprocess.CalledProcessError: If the command fails.
    """
    folder = training_folder(training, work)
    started = folder.with_suffix(".commit")
    # The folder of `embed` is finished before the tasks are; the command itself skips what it has done.
    if training.study.tasks or not RunFolder(run_folder(training, work)).is_finished():
        if not folder.exists():
            started.parent.mkdir(parents=True, exist_ok=True)
            started.write_text(commit() or "", encoding="utf-8")
        words = [*training.words(root), "--output", str(folder), "--results", str(folder.with_suffix(".jsonl"))]
        with open(work / "log.txt", "a", encoding="utf-8") as log:
            subprocess.run([sys.executable, "-m", "keras_slstm", *words], check=True, stdout=log)
    written = read_results(folder.with_suffix(".jsonl"))
    ended = written[-1]["commit"]
    before = started.read_text(encoding="utf-8") if started.exists() else ended
    tasks = {"tasks": task_scores(written, training.study.tasks)} if training.study.tasks else {}
    return {**summary(training, run_folder(training, work)), **tasks, "commit": same_commit(before, ended)}


def same_commit(before: str | None, after: str | None) -> str | None:
    """The commit of a training, with a `+` if the code changed between its start and its end."""
    if not before or after is None:
        return None
    return after if before == after else f"{after.removesuffix('+')}+"


def summary(training: Training, folder: Path) -> Line:
    """Return the line of a finished training: its scores, and the outcome of each test item."""
    found = read_json(folder / "results.json")
    measure = training.study.measure
    kept = ("settings", "split", "command", "vectors", "coverage", "best_epoch", "epochs", "updates", "parameters")
    name, _, kind = measure.partition(" ")
    of_type = {} if not kind else {f"{part}_{name}": found[f"{part}_{name}"] for part in ("development", "test")}
    return {
        **training.key,
        "measure": measure,
        **{f"{part}_score": score_of(found, part, measure) for part in ("development", "test")},
        **of_type,
        **{name: found.get(name) for name in kept},
        **{name: found[name] for name in ("mean_depth",) if name in found},  # of a depth-adaptive GRN
        **read_items(folder / "predictions.tsv", measure),
    }


def score_of(found: Line, part: str, measure: str) -> float:
    """Return the score on a split, at most 1; for `f1 MISC`, the score of the spans of type MISC."""
    name, _, kind = measure.partition(" ")
    try:
        score = found[part]["types"][kind]["f1-score"] if kind else found[f"{part}_{name}"]
    except (KeyError, TypeError):
        raise ValueError(f"the results do not contain the measure {measure!r} of the study") from None
    return float(score) / (100 if name == "bleu" else 1)


def read_items(path: Path, measure: str) -> Line:
    """Return the numbers of correct, predicted and true answers and of words per test item, and a fingerprint.

    An item is a text, a pair, or a sentence with its spans or tags. Other metrics are not sums over items.
    """
    name, _, kind = measure.partition(" ")
    if name not in ("accuracy", "f1") or not path.exists():
        return {"items": None, "words": None, "test_part": None}
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    heads, rows = rows[0], rows[1:]
    if heads[0] != "sentence":
        counts = [[int(row[0] == row[1]), 1, 1] for row in rows]
        lengths = [sum(len(text.split()) for text in texts) for _, _, _, *texts in rows]
        return {"items": counts, "words": lengths, "test_part": fingerprint([row[0] + "\t" + row[-1] for row in rows])}
    sentences: dict[str, list[list[str]]] = {}
    for row in rows:
        sentences.setdefault(row[0], []).append(row)
    counts = []
    scheme = detect_scheme([[row[2] for row in words] for words in sentences.values()])
    for words in sentences.values():
        wanted, found = ([row[column] for row in words] for column in (2, 3))
        if name == "f1":
            spans, guesses = (
                {span for span in tags_to_spans(tags, scheme) if kind in ("", span.type)} for tags in (wanted, found)
            )
            counts.append([len(spans & guesses), len(guesses), len(spans)])
        else:
            right = sum(one == other for one, other in zip(wanted, found, strict=True))
            counts.append([right, len(words), len(words)])
    lengths = [len(words) for words in sentences.values()]
    return {"items": counts, "words": lengths, "test_part": fingerprint(["\t".join(row[:3]) for row in rows])}


def run(study: Study, root: Path, work: Path) -> None:
    """Run all trainings without a line."""
    work.mkdir(parents=True, exist_ok=True)
    for training in trainings(study):
        key = training.key
        if any(all(line.get(name) == value for name, value in key.items()) for line in lines_of(study)):
            continue
        line = train(training, root, work)
        append_result(study.results, line)
        value = f" {study.searched} {training.value:g}" if training.value is not None else ""
        scores = f"development {100 * line['development_score']:.2f}, test {100 * line['test_score']:.2f}"
        epochs = f"best epoch {line['best_epoch']} of {line['epochs']}"
        print(f"{training.data}, {training.row}{value}, seed {training.seed}: {scores}, {epochs}", flush=True)


def main() -> int:
    """Run the studies given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="+", type=Path, metavar="FILE", help="study files")
    parser.add_argument("--root", type=Path, default=Path(), help="folder of the original files and word vectors")
    parser.add_argument("--work", type=Path, default=Path("runs/studies"), help="folder for the trainings")
    arguments = parser.parse_args()
    try:
        for path in arguments.studies:
            run(read_study(path), arguments.root, arguments.work)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    except subprocess.CalledProcessError as error:
        parser.exit(error.returncode, f"This training failed: {' '.join(map(str, error.cmd[1:]))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
