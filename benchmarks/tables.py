"""Makes the tables of the documentation from recorded results, so that no number is typed by hand.

python -m benchmarks.tables crf  # print one table; without a name, list the names
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks import comparisons, scaling_model, study_report, timed_tables, word_depths
from benchmarks.names import data_name, encoder_name
from keras_slstm.metrics.summaries import mean_and_spread
from keras_slstm.training.results import read_results
from keras_slstm.transfer import TASKS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
Runs = list[dict[str, Any]]


def classification() -> str:
    """Return the accuracies of classifiers and of the bag of words: mean and spread over the seeds."""
    columns = {
        "data": lambda runs: data_name(runs[0]["data"]),
        "encoder": lambda runs: encoder_name(runs[0]["encoder"]),
        "word vectors": vectors,
        ">development": lambda runs: percent(run["development_accuracy"] for run in runs),
        ">test": lambda runs: percent(run["test_accuracy"] for run in runs),
        ">runs": len,
        ">seconds per epoch": seconds_per_epoch,
        "command or method": command,
    }
    return table("classification.jsonl", columns)


def depths() -> str:
    """Return accuracy, speed and mean depth of the depth-adaptive GRN and of the encoders compared with it."""

    def mean_of(name: str, digits: int) -> Callable[[Runs], str]:
        def cell(runs: Runs) -> str:
            found = [run[name] for run in runs if name in run]
            return f"{statistics.fmean(found):.{digits}f}" if found else ""

        return cell

    columns = {
        "data": lambda runs: data_name(runs[0]["data"]),
        "encoder": lambda runs: encoder_name(runs[0]["encoder"]),
        "word vectors": vectors,
        ">mean depth": mean_of("mean_depth", 2),
        ">development": lambda runs: percent(run["development_accuracy"] for run in runs),
        ">test": lambda runs: percent(run["test_accuracy"] for run in runs),
        ">runs": len,
        ">test texts per second": mean_of("texts_a_second", 0),
        ">seconds per epoch": seconds_per_epoch,
        "command": command,
    }
    return table("depth.jsonl", columns)


def pairs() -> str:
    """Return the scores of pair classifiers: mean and spread over the seeds."""

    def measure(runs: Runs) -> str:
        return "accuracy" if "test_accuracy" in runs[0] else "pearson"

    columns = {
        "data": lambda runs: data_name(runs[0]["data"]),
        "encoder": lambda runs: encoder_name(runs[0]["encoder"]),
        "word vectors": vectors,
        ">pairs": training_examples,
        "metric": lambda runs: {"accuracy": "accuracy", "pearson": "Pearson × 100"}[measure(runs)],
        ">development": lambda runs: percent(run[f"development_{measure(runs)}"] for run in runs),
        ">test": lambda runs: percent(run[f"test_{measure(runs)}"] for run in runs),
        ">runs": len,
        ">seconds an epoch": seconds_per_epoch,
        "command": command,
    }
    return table("pairs.jsonl", columns)


def tagging() -> str:
    """Return the scores of taggers: mean and spread over the seeds."""

    def measure(runs: Runs) -> str:
        return "f1" if "f1" in runs[0]["test"] else "accuracy"

    columns = {
        "data": lambda runs: data_name(runs[0]["data"]),
        "tagger": lambda runs: encoder_name(
            " + ".join(runs[0][key] for key in ("encoder", "head", "characters") if runs[0][key])
        ),
        "word vectors": vectors,
        ">sentences": training_examples,
        "metric": lambda runs: {"f1": "span F1", "accuracy": "accuracy"}[measure(runs)],
        ">development": lambda runs: percent(run["development"][measure(runs)] for run in runs),
        ">test": lambda runs: percent(run["test"][measure(runs)] for run in runs),
        ">runs": len,
        ">seconds an epoch": seconds_per_epoch,
        "command": command,
    }
    return table("tagging.jsonl", columns)


def translation() -> str:
    """Return the scores of translation models: mean and spread over the seeds."""

    def score(part: str, name: str, factor: int = 1) -> Callable[[Runs], str]:
        return lambda runs: percent(factor * run[part][name] / 100 for run in runs)

    columns = {
        "data": lambda runs: data_name(runs[0]["data"]),
        "cell": lambda runs: encoder_name(runs[0]["cell"]),
        ">units": lambda runs: runs[0]["units"],
        ">parameters": lambda runs: f"{runs[0]['parameters']:,}",
        ">pairs": training_examples,
        ">development BLEU": score("development", "bleu"),
        ">test BLEU": score("test", "bleu"),
        ">test exact": score("test", "exact", 100),
        ">runs": len,
        ">seconds an epoch": seconds_per_epoch,
        "command": command,
    }
    return table("translation.jsonl", columns)


# Brahma (2018), Table 2: encoders with 4,096 dimensions, trained on the 943,000 pairs of SNLI and MultiNLI.
PAPER_TRANSFER = {
    "paper: BiLSTM (InferSent)": "81.1 86.3 92.4 90.2 84.6 88.2 76.2/83.1 88.4 86.3 75.8",
    "paper: SuBiLSTM-Tied": "81.6 86.5 93.0 90.5 85.1 90.4 76.3/83.3 88.5 86.3 77.1",
}


def transfer() -> str:
    """Return the scores of frozen sentence vectors, and those of the paper."""

    def cell(run: dict[str, Any]) -> str:
        measures = [name for name in ("accuracy", "f1", "pearson") if name in run]
        return "/".join(percent([run[name]]) for name in measures)

    notes = Footnotes("transfer")
    rows: dict[tuple[str, str], dict[str, str]] = {}
    path = RESULTS / "transfer.jsonl"
    for run in read_results(path) if path.exists() else []:
        rows.setdefault((run["encoder"], notes.refer(f"`{run['command']}`")), {})[run["transfer"]["task"]] = cell(run)
    for name, cells in PAPER_TRANSFER.items():
        rows[name, ""] = dict(zip(TASKS, cells.split(), strict=True))
    lines = [f"| encoder | {' | '.join(TASKS)} | command |", "| --- |" + " ---: |" * len(TASKS) + " --- |"]
    for (encoder, how), found in rows.items():
        lines.append(f"| {encoder_name(encoder)} | {' | '.join(found.get(task, '') for task in TASKS)} | {how} |")
    return "\n".join([*lines, "", *notes.definitions()]).rstrip()


def searches() -> str:
    """Return the test scores of the best settings of searches and of the defaults: mean and spread over the seeds."""
    lines = [
        "| search | settings | parameters | development | test | runs | trials | search minutes |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for path in sorted(RESULTS.glob("search-*/confirmation.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        trials = [json.loads(record.read_text(encoding="utf-8")) for record in path.parent.glob("trial_*/record.json")]
        minutes = sum(trial["seconds"] for trial in trials) / 60
        for one in found["configurations"]:
            scores = " | ".join(percent(one[part]) for part in ("development", "test"))
            of_search = f"{len(trials)} | {minutes:.0f}" if one["trial"] else " | "
            data = data_name(path.parent.name.removeprefix("search-"))
            lines.append(
                f"| {data} | {one['name']} | {one['parameters']:,} | {scores} | {len(found['seeds'])} | {of_search} |"
            )
    return "\n".join(lines)


def table(file: str, columns: dict[str, Callable[[Runs], Any]]) -> str:
    """Return a Markdown table with one row per group of runs in a file.

    Columns named `>...` are right-aligned. Commands become footnotes, because they are too long for a cell.
    """
    notes = Footnotes(file.partition(".")[0])
    ends = ("---:" if name.startswith(">") else "---" for name in columns)
    lines = ["| " + " | ".join(name.removeprefix(">") for name in columns) + " |", "| " + " | ".join(ends) + " |"]
    path = RESULTS / file
    for runs in groups(read_results(path) if path.exists() else []):
        cells = [notes.refer(cell(runs)) if cell is command else str(cell(runs)) for cell in columns.values()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *notes.definitions()]).rstrip()


class Footnotes:
    """Footnotes of a table; equal texts share a footnote."""

    def __init__(self, prefix: str):
        self.prefix = prefix
        self._numbers: dict[str, int] = {}

    def refer(self, text: str) -> str:
        """Return the mark that refers to a text."""
        return f"[^{self.prefix}-{self._numbers.setdefault(text, len(self._numbers) + 1)}]"

    def definitions(self) -> list[str]:
        """Return the footnotes, which may be anywhere on a Markdown page."""
        return [f"[^{self.prefix}-{number}]: {text}\n" for text, number in self._numbers.items()]


def vectors(runs: Runs) -> str:
    """Return the file of the word vectors."""
    return (runs[0].get("vectors") or "").removesuffix(".txt")


def training_examples(runs: Runs) -> str:
    """Return the size of the training set."""
    return f"{runs[0]['split']['sizes'][0]:,}"


def seconds_per_epoch(runs: Runs) -> str:
    """Return the median over the runs."""
    seconds = [run["seconds_per_epoch"] for run in runs if run.get("seconds_per_epoch")]
    return f"{statistics.median(seconds):.0f}" if seconds else ""


def command(runs: Runs) -> str:
    """Return the command of the runs."""
    return f"`{runs[0]['command']}`"


def groups(results: Runs) -> list[Runs]:
    """Group the runs that differ only in their seed or fold. A repeated run replaces the earlier one."""
    grouped: dict[tuple, dict[tuple, dict[str, Any]]] = {}
    for run in results:
        settings = {k: v for k, v in run.get("settings", {}).items() if k not in ("seed", "data")}
        key = (
            run["data"],
            run.get("encoder") or run["cell"],
            run.get("vectors") or "",
            " ".join(sorted(run["command"].split())),  # the order of the options does not matter
            json.dumps(settings, sort_keys=True),
        )
        grouped.setdefault(key, {})[str(run.get("seed")), run.get("fold")] = run
    return [list(runs.values()) for _, runs in sorted(grouped.items())]


def percent(shares: Iterable[float]) -> str:
    """Return the mean and, if there are several values, the standard deviation, in percent."""
    values = [100 * share for share in shares]
    mean, spread = mean_and_spread(values)
    return f"{mean:.1f}" + (f" ± {spread:.1f}" if len(values) > 1 else "")


def depth_costs() -> str:
    """Return the times of the depth-adaptive transition with given depths and at full depth, for each backend."""
    return timed_tables.depth_costs(RESULTS)


def comparison() -> str:
    """Return the comparison of the encoders with LSTMs that were trained in the same way."""
    files = [groups(read_results(RESULTS / file)) for file in comparisons.FILES]
    files += [groups([*map(comparisons.of_study, read_results(RESULTS / file))]) for file in comparisons.STUDIES]
    return comparisons.accuracy(runs for found in files for runs in found)


def scaling() -> str:
    """Return the throughput of one and of several processes, from `benchmarks.scaling`."""
    lines = [
        "| backend | memory allocator | processes | batch each | ms per step | sentences per second | speedup "
        "| difference of losses |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    path = RESULTS / "scaling.json"
    for result in json.loads(path.read_text(encoding="utf-8")) if path.exists() else []:
        versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
        batch, difference = result["settings"]["batch"], result.get("difference_of_losses")
        for count, rate in result["sentences_per_second"].items():
            step = result["milliseconds_a_step"][count]
            speedup = 1 if count == "1" else result["speedup"]
            compared = [f"{speedup:.2f}", "" if count == "1" or difference is None else f"{difference:.0e}"]
            cells = [versions, result["allocator"], count, str(batch), f"{step:.0f}", f"{rate:.1f}", *compared]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def lstm_devices() -> str:
    """Return the throughput of Keras' LSTM on two devices of JAX, from `benchmarks.reports`."""
    lines = [
        "| devices and training | windows per second | speedup | largest relative difference of a loss |",
        "| --- | ---: | ---: | ---: |",
    ]
    path = RESULTS / "lstm_devices.json"
    for row in json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []:
        rate = statistics.median(row["windows_per_second"])
        lines.append(f"| {row['way']} | {rate:.0f} | {row['speedup']:.2f} | {row['difference_of_losses']:.0e} |")
    return "\n".join(lines)


TABLES = {
    "classification": classification,
    "depths": depths,
    "tagging": tagging,
    "pairs": pairs,
    "transfer": transfer,
    "translation": translation,
    "searches": searches,
    "lstm-devices": lstm_devices,
    "scaling": scaling,
    "scaling-check": scaling_model.check,
    "scaling-model": lambda: scaling_model.table(scaling_model.Network()),
    "comparison": comparison,
    "memory": lambda: comparisons.memory(RESULTS),
    "speed": lambda: timed_tables.speed(RESULTS),
    "slstm-by-length": lambda: timed_tables.slstm_by_length(RESULTS),
    "gpu": lambda: timed_tables.gpu(RESULTS),
    "depth-costs": depth_costs,
    "suffixes": lambda: timed_tables.suffixes(RESULTS),
    "crf": lambda: timed_tables.crf_speed(RESULTS),
    "latency": lambda: timed_tables.latencies(RESULTS),
    "long-texts": lambda: timed_tables.long_text_costs(RESULTS),
    "streaming": lambda: timed_tables.streaming(RESULTS),
    "studies": study_report.tables,
    "claims": study_report.claims,
    "word-depths": word_depths.table,
}


def fill(text: str) -> str:
    """Replace each `<!-- table: NAME -->` in a text with the table."""
    return re.sub(r"<!-- table: ([a-z-]+) -->", lambda match: TABLES[match[1]](), text)


def main() -> int:
    """Print one table, or the names of all tables."""
    print(TABLES[sys.argv[1]]() if sys.argv[1:] else "\n".join(TABLES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
