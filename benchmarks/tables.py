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

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
Runs = list[dict[str, Any]]


def depths() -> str:
    """Return speed and mean depth of the depth-adaptive GRN and of the encoders compared with it."""

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
        ">test texts per second": mean_of("texts_a_second", 0),
        "command": command,
    }
    return table("depth.jsonl", columns)


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
            run["encoder"],
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
    "depths": depths,
    "searches": searches,
    "lstm-devices": lstm_devices,
    "scaling": scaling,
    "scaling-check": scaling_model.check,
    "scaling-model": lambda: scaling_model.table(scaling_model.Network()),
    "comparison": comparisons.accuracy,
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
