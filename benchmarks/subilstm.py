"""Compares the SuBiLSTM with its floor, with a BiLSTM, and with separate Keras calls for all prefixes and suffixes.

    KERAS_BACKEND=tensorflow python -m benchmarks.subilstm --output runs/subilstm-tensorflow

For each sentence length, the benchmark measures a training step (forward and backward, without an optimizer), the time
until the first step is done, and the memory. The *floor* is the time of the matrix products of the equations on the
same backend, compiled in the same mode, in the same run: x W once for every word, and h U for every word and each
suffix that has started; the backward pass adds twice as many. All run in turn, and the medians over the rounds are
reported.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from keras import ops

import keras_slstm
from benchmarks import memory, timing
from keras_slstm.files import write_json
from keras_slstm.training.results import conditions

SEPARATE = "separate Keras LSTM calls"
FLOORS = {"floor, tied": True, "floor, untied": False}  # whether the weights are tied
# The floor of each encoder. Encoders without a floor need other products.
FLOOR_OF = {
    "SuBiLSTM": "floor, tied",
    "SuBiLSTM, rematerialised": "floor, tied",
    "SuBiLSTM, untied": "floor, untied",
    SEPARATE: "floor, tied",
    **{name: name for name in FLOORS},
}


class SeparateCalls(keras.layers.Layer):
    """A naive SuBiLSTM: one call of `keras.layers.LSTM` for every prefix and suffix."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.forward = keras.layers.LSTM(units, return_sequences=True)
        self.backward = keras.layers.LSTM(units, return_sequences=True)

    def build(self, input_shape: tuple) -> None:
        self.forward.build((input_shape[0], None, input_shape[2]))
        self.backward.build((input_shape[0], None, input_shape[2]))
        self.built = True

    def call(self, x: Any) -> Any:
        def encodings(layer: keras.layers.Layer, x: Any) -> Any:
            return layer(x), ops.stack([layer(x[:, i:])[:, -1] for i in range(x.shape[1])], axis=1)

        forward = ops.maximum(*encodings(self.forward, x))
        backward = ops.flip(ops.maximum(*encodings(self.backward, ops.flip(x, axis=1))), axis=1)
        return ops.max(ops.concatenate([forward, backward], axis=-1), axis=1)


def encoders(units: int) -> dict[str, Callable[[], keras.Layer]]:
    """Return the encoders by name. Each maps `(batch, time, units)` to a sentence vector."""
    return {
        "SuBiLSTM": lambda: keras_slstm.SuBiLSTM(units),
        "SuBiLSTM, untied": lambda: keras_slstm.SuBiLSTM(units, tied=False),
        "SuBiLSTM, rematerialised": lambda: keras_slstm.SuBiLSTM(units, rematerialize=True),
        "SuBiLSTM, max_context=8": lambda: keras_slstm.SuBiLSTM(units, max_context=8),
        "SuBiLSTM of GRUs": lambda: keras_slstm.SuBiLSTM(units, cell="gru"),
        "BiLSTM": lambda: keras.layers.Bidirectional(keras.layers.LSTM(units)),
        SEPARATE: lambda: SeparateCalls(units),
    }


def products(batch: int, length: int, units: int, tied: bool) -> list[tuple[int, int, int, int]]:
    """Return the matrix products of eq. 1-4 in both directions."""
    d = units
    found = [(batch * length, d, 4 * d, 2 if tied else 4)]  # x W, the same for all suffixes
    found += [(batch * begun, d, 4 * d, 2) for begun in range(1, length + 1)]
    return found if tied else [*found, (batch, d, 4 * d, 2 * length)]


def measure(args: argparse.Namespace, length: int) -> list[dict[str, Any]]:
    """Time the training steps of everything in all modes for one length."""
    shape = (args.batch, length, args.units)
    x = timing.tensor(np.random.default_rng(0).normal(size=shape).astype("float32"), "float32")
    run: dict[tuple[str, str], timing.Step] = {}
    first: dict[tuple[str, str], float] = {}
    for mode in args.modes or timing.MODES:
        for name, tied in FLOORS.items():
            needed = products(args.batch, length, args.units, tied)
            run[name, mode] = timing.matrix_products(needed, "float32", mode, backward=True)
        for name, make in encoders(args.units).items():
            if (args.encoders and name not in args.encoders) or (name == SEPARATE and length > args.separate_up_to):
                continue
            layer = make()
            layer.build(shape)
            started = time.perf_counter()
            run[name, mode] = timing.training_step(layer, x, mode)
            run[name, mode]()
            first[name, mode] = time.perf_counter() - started
    seconds = timing.in_turn(run, args.rounds)
    rows = []
    for (name, mode), taken in seconds.items():
        median = statistics.median(taken)
        row: dict[str, Any] = {
            "encoder": name,
            "mode": mode,
            "length": length,
            "seconds": median,
            "fastest": min(taken),
            "slowest": max(taken),
            "until_first": first.get((name, mode)),
        }
        if name in FLOOR_OF:
            row["to_floor"] = timing.median_ratio(taken, seconds[FLOOR_OF[name], mode])
        if (SEPARATE, mode) in seconds:
            row["separate_to_this"] = timing.median_ratio(seconds[SEPARATE, mode], taken)
        rows.append(row)
        print(
            f"length {length:4} {mode:5} {name:26} {median * 1e3:9.1f} ms"
            + (f" {row['to_floor']:6.2f} x floor" if "to_floor" in row else "")
            + (f", first step after {first[name, mode]:.1f} s" if (name, mode) in first else "")
            + (f", {row['separate_to_this']:.2f} x faster than {SEPARATE}" if "separate_to_this" in row else ""),
            flush=True,
        )
    return rows


def peak_memory(args: argparse.Namespace, name: str, length: int) -> float:
    """Return by how many megabytes training steps raise the peak resident set size of a new process."""
    size = {"lengths": length, "batch": args.batch, "units": args.units, "modes": (args.modes or timing.MODES)[0]}
    options = [word for option, value in size.items() for word in (f"--{option}", str(value))]
    return memory.in_new_process("benchmarks.subilstm", "--peak-of", name, *options)


def print_peak_memory(args: argparse.Namespace) -> None:
    """Run training steps. `peak_memory` calls this in a new process."""
    layer = encoders(args.units)[args.peak_of]()
    shape = (args.batch, args.lengths[0], args.units)
    x = timing.tensor(np.zeros(shape, "float32"), "float32")
    layer.build(shape)
    memory.print_growth(timing.training_step(layer, x, args.modes[0]))


def table(rows: list[dict[str, Any]], peaks: dict[str, dict[str, float]]) -> str:
    """Return a Markdown table by length: milliseconds, ratios to the floor, seconds until the first step, megabytes."""
    lengths = sorted({row["length"] for row in rows})
    lines = ["| | " + " | ".join(f"length {n}" for n in lengths) + " |", "| --- |" + " ---: |" * len(lengths)]
    for mode, name in dict.fromkeys((row["mode"], row["encoder"]) for row in rows):
        found = {row["length"]: row for row in rows if (row["mode"], row["encoder"]) == (mode, name)}
        lines.append(f"| {mode}: {name} | " + " | ".join(_cell(found.get(n)) for n in lengths) + " |")
    for name, by_length in peaks.items():
        if not by_length:  # not measured at any length
            continue
        cells = [f"{by_length[str(n)]:.0f} MB" if str(n) in by_length else "" for n in lengths]
        lines.append(f"| memory: {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    notes = [f"{row['to_floor']:.2f}"] if "to_floor" in row else []
    if row["until_first"] is not None:
        notes.append(f"first after {row['until_first']:.1f} s")
    return f"{row['seconds'] * 1e3:.0f} ms ({', '.join(notes)})"


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[16, 32, 64, 128])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--units", type=int, default=300)
    parser.add_argument("--modes", nargs="+", choices=timing.MODES, help="(default: all modes of the backend)")
    parser.add_argument("--encoders", nargs="+", help="(default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--separate-up-to", type=int, default=64, help=f"largest length for {SEPARATE}")
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory")
    parser.add_argument("--output", type=Path, default=Path("runs", f"subilstm-{timing.BACKEND}"))
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak_of:
        print_peak_memory(args)
        return

    args.output.mkdir(parents=True, exist_ok=True)
    settings = {name: value for name, value in vars(args).items() if name not in ("output", "peak_of", "no_memory")}
    path = args.output / "subilstm.json"
    head = {"conditions": conditions(), "settings": settings}
    rows: list[dict[str, Any]] = []
    peaks: dict[str, dict[str, float]] = {}
    if path.exists():  # continue an interrupted run with the same settings
        before = json.loads(path.read_text(encoding="utf-8"))
        if {name: before[name] for name in head} != head:
            parser.error(f"{path} holds measurements with other settings or versions: choose another --output")
        rows, peaks = before["rows"], before["peak_memory_mb"]
    for length in args.lengths:
        if not any(row["length"] == length for row in rows):
            rows += measure(args, length)
            write_json(path, {**head, "rows": rows, "peak_memory_mb": peaks})
            keras.backend.clear_session()
            gc.collect()  # the functions compiled for one size use gigabytes
    if not args.no_memory:
        for name in args.encoders or encoders(args.units):
            if name not in peaks:
                lengths = [n for n in args.lengths if name != SEPARATE or n <= args.separate_up_to]
                peaks[name] = {str(n): round(peak_memory(args, name, n), 1) for n in lengths}
                print(f"memory of training: {name} {peaks[name]} MB", flush=True)
                write_json(path, {**head, "rows": rows, "peak_memory_mb": peaks})
    text = table(rows, peaks)
    (args.output / "subilstm.md").write_text(text + "\n", encoding="utf-8")
    print(f"\nBatch {args.batch}, {args.units} units, {timing.BACKEND}; in brackets: ratio to the floor\n\n{text}")


if __name__ == "__main__":
    main()
