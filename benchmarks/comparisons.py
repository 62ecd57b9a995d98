"""Compares the encoders of the package with LSTMs that were trained in the same way: accuracy and memory.

The tables are on the page `docs/choosing.md`.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import study_report
from benchmarks.sentence_vectors import different_vectors, sentence_vector
from benchmarks.study import Line, Options, Study, lines_of, read_study
from benchmarks.study_checks import chosen_runs, unfair
from benchmarks.study_report import difference, percent, with_interval

OWN = ("slstm", "caslstm", "bi_caslstm", "subilstm", "subilstm_untied", "depth_adaptive_grn", "full_depth_grn")
METRICS = {"accuracy": "accuracy", "f1": "span F1", "bleu": "BLEU"}
# Options that may differ between an encoder and its baseline; all others must be equal. `recurrent-multiplier` changes
# nothing in an LSTM: only the recurrent kernels of the S-LSTM and the GRN are marked for it.
OF_THE_ENCODER = {"encoder", "cell", "encoder-option", "steps", "window", "readout", "pooling", "recurrent-multiplier"}


def compared_rows(study: Study) -> Iterator[str]:
    """Yield the rows with an encoder of the package, if the baseline has another one and is otherwise equal."""

    def encoder(options: Options) -> str | None:
        return options.get("encoder", options.get("cell"))

    def others(options: Options) -> Options:
        return {name: value for name, value in options.items() if name not in OF_THE_ENCODER}

    baseline = study.rows[study.baseline]
    for row, options in study.rows.items():
        if encoder(options) in OWN and encoder(baseline) not in (*OWN, None) and others(options) == others(baseline):
            yield row


def named(study: Study, row: str) -> str:
    """Return the name of a row, with its sentence vector and recurrent learning rate if those of the rows differ."""
    vector = None if different_vectors(study) is None else sentence_vector(study, row)
    notes = [] if vector is None else [vector]
    if (multiplier := study.rows[row].get("recurrent-multiplier", 1)) != 1:
        notes.append(f"{multiplier} times the learning rate for recurrent kernels")
    return f"{row} ({'; '.join(notes)})" if notes else row


def accuracy() -> str:
    """Return a Markdown table of the comparisons that the report accepts, of single data sets or of their average."""
    table = [
        "| data | metric | encoder | test | baseline | test | difference [95%] | study |",
        "| --- | --- | --- | ---: | --- | ---: | ---: | --- |",
    ]
    for path in sorted(study_report.STUDIES.glob("*.toml")):
        study = read_study(path)
        lines = lines_of(study)
        averages = any(claim.get("average") for claim in study.claims)
        for names in [list(study.data)] if averages else [[name] for name in study.data]:
            for row in compared_rows(study):
                if not unfair(study, lines, row, names):
                    pairs = [[chosen_runs(study, lines, of, data) for of in (row, study.baseline)] for data in names]
                    table.append("| " + " | ".join(_cells(study, names, row, pairs)) + " |")
    return "\n".join(table)


def _cells(study: Study, data: Sequence[str], row: str, pairs: Sequence[Sequence[dict[int, Line]]]) -> list[str]:
    """Return the cells of a comparison, averaged over data sets; `pairs` has the runs of row and baseline for each."""
    own, base = (
        percent([statistics.fmean(runs[seed]["test_score"] for runs in of_data) for seed in study.seeds])
        for of_data in zip(*pairs, strict=True)
    )
    parts = data[0] if len(data) == 1 else f"average over {', '.join(data)}"
    return [
        f"`{study.options['dataset']}`, {parts}" if "dataset" in study.options else parts,
        METRICS.get(study.measure, study.measure),
        *(named(study, row), own),
        *(named(study, study.baseline), base),
        with_interval(*difference(*pairs)),
        f"`{study.name}`",
    ]


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
