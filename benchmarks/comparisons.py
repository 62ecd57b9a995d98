"""Compares the encoders of the package with LSTMs that were trained in the same way: accuracy and memory.

The tables are on the page `docs/choosing.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.names import data_name, encoder_name
from keras_slstm.metrics.summaries import mean_and_spread

OWN = ("slstm", "caslstm", "bi_caslstm", "subilstm", "depth_adaptive_grn")
BASELINES = ("bilstm", "stacked_bilstm", "lstm")
STUDIES = ("studies/travel_requests.jsonl",)  # studies that measure accuracy
FILES = ("classification.jsonl", "pairs.jsonl", "tagging.jsonl", "translation.jsonl")
# Options that may differ between an encoder and its baseline; all others must be equal.
ENCODER_OPTIONS = re.compile(r" --(?:encoder|cell|pooling)s? \S+")
Runs = list[dict[str, Any]]


def pairs_of(grouped: Iterable[Runs]) -> Iterator[tuple[Runs, Runs]]:
    """Yield the runs of an encoder with those of a baseline whose command is otherwise the same."""
    alike: dict[Any, dict[str, Runs]] = {}
    for runs in grouped:
        run = runs[0]
        line = " ".join(sorted(ENCODER_OPTIONS.sub("", run["command"]).split()))
        alike.setdefault((run["data"], run.get("vectors"), line), {})[name_of(run)] = runs
    for encoders in alike.values():
        for name, runs in encoders.items():
            first, plus, rest = name.partition(" + ")
            if first not in OWN:
                continue
            # Prefer the same parts. The name of the CAS-LSTM omits its max pooling.
            wanted = [f"{baseline}{plus}{rest}" for baseline in BASELINES] + [f"{each} + max" for each in BASELINES]
            found = next((encoders[each] for each in wanted if each in encoders), None)
            if found:
                yield runs, found


def of_study(line: dict[str, Any]) -> dict[str, Any]:
    """Return the line of a study in the form of a run's line."""
    return {**line, "encoder": line["settings"]["encoder"], "test_accuracy": line["test_score"]}


def name_of(run: dict[str, Any]) -> str:
    """Return the identifier of a run's encoder, or of a translation model's cell."""
    return str(run.get("encoder") or run["cell"])


def score(run: dict[str, Any]) -> float:
    """Return the test score in percent: accuracy, span F1 or BLEU."""
    if "test_accuracy" in run:
        return 100 * run["test_accuracy"]
    test = run["test"]
    return float(test["bleu"]) if "bleu" in test else 100 * test["f1" if "f1" in test else "accuracy"]


def measure(run: dict[str, Any]) -> str:
    """Return the name of the metric."""
    test = run.get("test", {})
    return "BLEU" if "bleu" in test else "span F1" if "f1" in test else "accuracy"


def shown(runs: Runs) -> str:
    """Format the mean and, if there are several runs, the standard deviation."""
    mean, spread = mean_and_spread([score(run) for run in runs])
    return f"{mean:.1f}" + (f" ± {spread:.1f}" if len(runs) > 1 else "")


def accuracy(grouped: Iterable[Runs]) -> str:
    """Return a Markdown table of all comparisons."""
    lines = [
        "| data | metric | encoder | test | baseline | test | runs |",
        "| --- | --- | --- | ---: | --- | ---: | ---: |",
    ]
    for own, base in pairs_of(grouped):
        cells = [data_name(own[0]["data"]), measure(own[0])]
        for runs in (own, base):
            cells += [encoder_name(name_of(runs[0])), shown(runs)]
        lines.append("| " + " | ".join([*cells, str(min(len(own), len(base)))]) + " |")
    return "\n".join(lines)


def memory(folder: Path) -> str:
    """Return a Markdown table of the megabytes by which training steps raise a process, by sentence length."""
    lines: list[str] = []
    patterns = ("encoders-*/encoders.json", "subilstm-*/subilstm.json", "memory-*/*.json")
    for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
        result = json.loads(path.read_text(encoding="utf-8"))
        settings, versions = result["settings"], result["conditions"]["versions"]
        peaks = {name: found for name, found in result["peak_memory_mb"].items() if found}
        if not peaks:
            continue
        lengths = list(dict.fromkeys(length for found in peaks.values() for length in found))
        libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
        batch = settings["batch"] if "batch" in settings else max(settings["batches"])
        lines += ["", f"Batch {batch}, {settings['units']} units; {libraries}:", ""]
        lines.append("| | " + " | ".join(f"{length} words" for length in lengths) + " |")
        lines.append("| --- |" + " ---: |" * len(lengths))
        for name, found in peaks.items():
            cells = [f"{found[length]:.0f}" if length in found else "" for length in lengths]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines[1:])
