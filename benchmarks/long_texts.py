"""Measures training on one long text: memory and time of a step, with and without the options that save memory.

    KERAS_BACKEND=tensorflow python -m benchmarks.long_texts --output benchmarks/results/long-texts-tensorflow

A step is `train_on_batch` of an encoder and a softmax on vectors of one text: forward, backward and the update by Adam.
Each encoder runs in a new process. The memory is the growth of its peak resident set size from before the first step to
after the last, compilation included; the time is that of the fastest step after the first.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

import keras_slstm
from benchmarks import memory, timing
from keras_slstm.files import write_json
from keras_slstm.training.results import conditions


def encoders(units: int, segment_length: int) -> dict[str, Callable[[], keras.Layer]]:
    """Return the encoders by name. Each maps `(batch, time, units)` to a sentence vector."""
    segments = {"segment_length": segment_length}
    named = ", ".join(f"{name}={value}" for name, value in segments.items())
    again = {"rematerialize": True}
    return {
        "LSTM of Keras": lambda: keras.layers.LSTM(units),
        "CAS-LSTM of one layer (an LSTM)": lambda: keras_slstm.CASLSTM(units, num_layers=1),
        f"CAS-LSTM of one layer, {named}": lambda: keras_slstm.CASLSTM(units, num_layers=1, **segments),
        "CAS-LSTM": lambda: keras_slstm.CASLSTM(units),
        f"CAS-LSTM, {named}": lambda: keras_slstm.CASLSTM(units, **segments),
        "S-LSTM": lambda: keras_slstm.SLSTM(units),
        "S-LSTM, rematerialize": lambda: keras_slstm.SLSTM(units, **again),
        "SuBiLSTM, max_context=8": lambda: keras_slstm.SuBiLSTM(units, max_context=8),
        "SuBiLSTM, max_context=8, rematerialize": lambda: keras_slstm.SuBiLSTM(units, max_context=8, **again),
        "depth-adaptive GRN": lambda: keras_slstm.DepthAdaptiveGRN(units, seed=0),
        "depth-adaptive GRN, rematerialize": lambda: keras_slstm.DepthAdaptiveGRN(units, seed=0, **again),
    }


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Train one encoder in this process, and return what is measured."""
    keras.utils.set_random_seed(0)
    encoder = encoders(args.units, args.segment_length)[args.measure]()
    model = keras.Sequential([encoder, keras.layers.Dense(2, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=timing.BACKEND == "jax")
    x = np.random.default_rng(0).normal(size=(1, args.words, args.units)).astype("float32")
    model.build(x.shape)
    seconds = []

    def step() -> None:
        started = time.perf_counter()
        model.train_on_batch(x, np.zeros(1, int))
        seconds.append(time.perf_counter() - started)

    megabytes = memory.growth(step)
    return {"encoder": args.measure, "megabytes": megabytes, "first_step": seconds[0], "seconds": min(seconds[1:])}


def table(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table of megabytes and seconds."""
    lines = ["| | MB | seconds a step | seconds of the first step |", "| --- | ---: | ---: | ---: |"]
    for row in rows:
        times = f"{row['seconds']:.1f} | {row['first_step']:.1f}"
        lines.append(f"| {row['encoder']} | {row['megabytes']:.0f} | {times} |")
    return "\n".join(lines)


def main() -> None:
    """Measure each encoder in a new process, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--units", type=int, default=100)
    parser.add_argument("--segment-length", type=int, default=500)
    parser.add_argument("--encoders", nargs="+", help="(default: all)")
    parser.add_argument("--output", type=Path, default=Path("runs", f"long-texts-{timing.BACKEND}"))
    parser.add_argument("--measure", help=argparse.SUPPRESS)  # in the new process
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args)))
        return

    settings = {name: getattr(args, name) for name in ("words", "units", "segment_length")}
    head = {"conditions": conditions(), "settings": settings}
    path = args.output / "long_texts.json"
    args.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    if path.exists():  # continue an interrupted run with the same settings
        before = json.loads(path.read_text(encoding="utf-8"))
        if before["settings"] != settings or before["conditions"]["versions"] != head["conditions"]["versions"]:
            parser.error(f"{path} holds measurements with other settings or versions: choose another --output")
        rows = before["rows"]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    for name in args.encoders or encoders(args.units, args.segment_length):
        if any(row["encoder"] == name for row in rows):
            continue
        rows.append(memory.in_new_process("benchmarks.long_texts", f"--measure={name}", *options))
        print(json.dumps(rows[-1]), flush=True)
        write_json(path, {**head, "rows": rows})
    print(f"\n{args.words} words, {args.units} units, {timing.BACKEND}\n\n{table(rows)}")


if __name__ == "__main__":
    main()
