"""Makes the tables of times from recorded benchmarks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import crf, depth, encoders, latency, long_texts, subilstm
from keras_slstm.training.results import read_results


def measured(results: Path, pattern: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the results of each file, with a note about the machine, the versions and the number of rounds."""
    for path in sorted(results.glob(pattern)):
        result = json.loads(path.read_text(encoding="utf-8"))
        yield result, f"{machine(result['conditions'])}; medians of {result['settings']['rounds']} rounds"


def machine(conditions: dict[str, Any]) -> str:
    """Return the processor and the versions of a measurement."""
    versions = ", ".join(f"{name} {version}" for name, version in conditions["versions"].items())
    gpu = f"{conditions['gpu']}; " if "gpu" in conditions else ""
    return f"{gpu}{conditions['processor']}, {conditions['cores']} cores; {versions}"


def speed(results: Path) -> str:
    """Return the times of training and inference at the largest batch size and about 64 words, for each backend."""
    lines: list[str] = []
    for result, where in measured(results, "encoders-*/encoders.json"):
        if "gpu" in result["conditions"]:
            continue
        settings = result["settings"]
        batch = max(settings["batches"])
        if "floor" not in settings:
            where += "; an earlier floor, which counts all steps"
        length = min(settings["lengths"], key=lambda n: abs(n - 64))
        rows = [r for r in result["rows"] if (r["batch"], r["length"]) == (batch, length)]
        lines += [
            "",
            f"{settings['dtype']}, batch {batch}, {length} words, {settings['units']} units, {settings['steps']} "
            f"steps; {where}:",
            "",
        ]
        columns = list(dict.fromkeys((r["kind"], r["mode"]) for r in rows))
        lines.append("| | " + " | ".join(f"{kind}, {mode}" for kind, mode in columns) + " |")
        lines.append("| --- |" + " ---: |" * len(columns))
        for name in dict.fromkeys(r["encoder"] for r in rows):
            found: dict[Any, Any] = {(r["kind"], r["mode"]): r for r in rows if r["encoder"] == name}
            lines.append(f"| {name} | " + " | ".join(_milliseconds(found.get(c)) for c in columns) + " |")
    return "\n".join(lines[1:])


def slstm_by_length(results: Path) -> str:
    """Return the times of the S-LSTM by sentence length, beside its floor and other implementations."""
    lines: list[str] = []
    for result, where in measured(results, "slstm-*/encoders.json"):
        settings = result["settings"]
        for batch in settings["batches"]:
            lines += ["", f"Batch {batch}, {settings['units']} units, {settings['steps']} steps; {where}:", ""]
            lines.append(encoders.table(result["rows"], {}, batch))
    return "\n".join(lines[1:])


def gpu(results: Path) -> str:
    """Return the times of training and inference on a GPU, with the ratio to Keras' BiLSTM, for each backend."""
    lines: list[str] = []
    for result, where in measured(results, "encoders-*/encoders.json"):
        if "gpu" not in result["conditions"]:
            continue
        settings = result["settings"]
        padding = "sentences of different lengths, with a mask" if settings.get("masked") else "no mask"
        for batch, length in dict.fromkeys((r["batch"], r["length"]) for r in result["rows"]):
            times = {
                (r["encoder"], f"{r['kind']}, {r['mode']}"): r["seconds"]
                for r in result["rows"]
                if (r["batch"], r["length"]) == (batch, length) and not r["encoder"].startswith("floor")
            }
            columns = list(dict.fromkeys(column for _, column in times))
            lines += ["", f"Batch {batch}, {length} words, {padding}, {settings['units']} units; {where}:", ""]
            lines.append("| | " + " | ".join(columns) + " |")
            lines.append("| --- |" + " ---: |" * len(columns))
            for name in dict.fromkeys(name for name, _ in times):
                cells = []
                for column in columns:
                    # The compiled mode has no BiLSTM of its own, because its loop would be unrolled.
                    kind = column.partition(",")[0]
                    of_bilstm = (t for (of, c), t in times.items() if of == "BiLSTM" and c.startswith(kind))
                    reference, taken = next(of_bilstm, None), times.get((name, column))
                    ratio = f" ({taken / reference:.2f})" if taken and reference else ""
                    cells.append("" if taken is None else f"{1e3 * taken:.2f}{ratio}")
                lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines[1:])


def _milliseconds(row: dict[str, Any] | None) -> str:
    if row is None:  # not measured in this mode
        return ""
    beside = f"; {row['to_counterpart']:.2f} x {row['counterpart']}" if "counterpart" in row else ""
    return f"{row['seconds'] * 1e3:.0f} ({row['to_floor']:.2f}{beside})"


def depth_costs(results: Path) -> str:
    """Return the times of the depth-adaptive transition with given depths and at full depth, for each backend."""
    lines: list[str] = []
    for result, where in measured(results, "depth-*/depth.json"):
        settings = result["settings"]
        lines += [
            "",
            f"Batch {settings['batch']}, {settings['length']} words, {settings['units']} units, depths up to "
            f"{settings['max_depth']}; {where}:",
            "",
            depth.table(result["rows"]),
        ]
    return "\n".join(lines[1:])


def suffixes(results: Path) -> str:
    """Return the step times and memory of the SuBiLSTM, its floor and separate calls, for each backend."""
    lines: list[str] = []
    for result, where in measured(results, "subilstm-*/subilstm.json"):
        settings = result["settings"]
        lines += [
            "",
            f"Training steps, batch {settings['batch']}, {settings['units']} units; {where}:",
            "",
            subilstm.table(result["rows"], result["peak_memory_mb"]),
        ]
    return "\n".join(lines[1:])


def crf_speed(results: Path) -> str:
    """Return the times and memory of the CRF and of the reference library in the same run, for each backend."""
    lines: list[str] = []
    for result, where in measured(results, "crf-*/crf.json"):
        settings = result["settings"]
        for kind in dict.fromkeys(row["kind"] for row in result["rows"]):
            lines += [
                "",
                f"{kind[0].upper()}{kind[1:]}, batch {settings['batch']}; {where}:",
                "",
                crf.table(result["rows"], kind),
            ]
        peaks = {(peak["name"], peak["labels"], peak["length"]): peak["megabytes"] for peak in result["peak_memory_mb"]}
        if peaks:
            sizes = list(dict.fromkeys(key[1:] for key in peaks))
            lines += ["", "Megabytes that the loss and its gradient add to a process:", ""]
            lines.append("| | " + " | ".join(f"{labels} labels, {length} words" for labels, length in sizes) + " |")
            lines.append("| --- |" + " ---: |" * len(sizes))
            for name in dict.fromkeys(key[0] for key in peaks):
                lines.append(f"| {name} | " + " | ".join(f"{peaks[name, *size]:.0f}" for size in sizes) + " |")
    return "\n".join(lines[1:])


def latencies(results: Path) -> str:
    """Return the times of one sentence in each runtime, and the file sizes."""
    lines: list[str] = []
    for result, where in measured(results, "latency-*/latency.json"):
        settings, rows = result["settings"], result["rows"]
        for length in settings["lengths"]:
            how = f"One sentence of {length} word{'s' * (length > 1)}, {settings['units']} units"
            lines += ["", f"{how}, threads: {settings['threads']}; {where}:", "", latency.table(rows, length)]
        lines += ["", "File sizes in megabytes:", "", latency.sizes(rows)]
    return "\n".join(lines[1:]) or "Not measured yet."


def streaming(results: Path) -> str:
    """Return time and memory from a text file to the first training step, streamed and in memory."""
    path = results / "streaming.jsonl"
    runs = read_results(path) if path.exists() else []
    if not runs:
        return "Not measured yet."
    columns = ["seconds to the first step", "CPU seconds", "sentences read per second", "peak MB"]
    columns += ["sentences trained per second", "waiting for batches", "padding"]
    lines = [
        "One run each; " + "; ".join(dict.fromkeys(machine(run["conditions"]) for run in runs)) + ":",
        "",
        "| | million lines | MB | " + " | ".join(columns) + " |",
        "| --- |" + " ---: |" * (2 + len(columns)),
    ]
    for run in runs:
        way = run["way"] + (f", {run['processes']} processes" if run["processes"] > 1 else "")
        cells = [f"{run['lines'] / 1e6:.0f}", f"{run['megabytes']:,.0f}", f"{run['seconds']:.0f}"]
        cells += [f"{run['cpu_seconds']:.0f}", f"{run['lines'] / run['seconds']:,.0f}", f"{run['peak_megabytes']:,.0f}"]
        cells += [f"{run['sentences_per_second']:,.0f}"]
        cells += [f"{100 * run[name]:.1f}%" if name in run else "" for name in ("share_of_waiting", "share_of_padding")]
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def long_text_costs(results: Path) -> str:
    """Return the memory and time of training steps on one long text, for each backend."""
    lines: list[str] = []
    for path in sorted(results.glob("long-texts-*/long_texts.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        where = machine(result["conditions"])
        lines += ["", f"One text, {result['settings']['units']} units; {where}:", "", long_texts.table(result)]
    return "\n".join(lines[1:])
