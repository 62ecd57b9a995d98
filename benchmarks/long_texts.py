"""Measures training on one long text: memory and time of a step, with and without the options that save memory.

    KERAS_BACKEND=tensorflow python -m benchmarks.long_texts --output benchmarks/results/long-texts-tensorflow

A step is `train_on_batch` of an encoder and a softmax on vectors of one text: forward, backward and the update by Adam.
Each layer and length has a process of its own. The memory is the growth of the peak resident set size over two steps,
compilation included; the time is that of the second step.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

import keras_slstm
from benchmarks import memory, timing
from keras_slstm.files import write_json
from keras_slstm.training.results import conditions

LABELS = 17


class Contestant(NamedTuple):
    """A layer, and the one without the options that save memory, which its time is compared with."""

    make: Callable[[], keras.Layer]
    counterpart: str | None = None
    max_words: int | None = None


def contestants(units: int, segment_length: int) -> dict[str, Contestant]:
    """Return layers by name. Each maps `(batch, time, units)` to a sentence vector, or the CRF to potentials."""
    segments = f"segment_length={segment_length}"
    again = {"rematerialize": True}
    full_depth: dict[str, Any] = {"selection": "full", "sequential": None}
    return {
        "CAS-LSTM": Contestant(lambda: keras_slstm.CASLSTM(units)),
        f"CAS-LSTM, {segments}": Contestant(
            lambda: keras_slstm.CASLSTM(units, segment_length=segment_length), "CAS-LSTM"
        ),
        "S-LSTM": Contestant(lambda: keras_slstm.SLSTM(units)),
        "S-LSTM, rematerialize": Contestant(lambda: keras_slstm.SLSTM(units, **again), "S-LSTM"),
        # Its time and memory grow with the square of the length.
        "SuBiLSTM": Contestant(lambda: keras_slstm.SuBiLSTM(units), max_words=1000),
        "SuBiLSTM, rematerialize": Contestant(lambda: keras_slstm.SuBiLSTM(units, **again), "SuBiLSTM", max_words=1000),
        "SuBiLSTM, max_context=8": Contestant(lambda: keras_slstm.SuBiLSTM(units, max_context=8)),
        "SuBiLSTM, max_context=8, rematerialize": Contestant(
            lambda: keras_slstm.SuBiLSTM(units, max_context=8, **again), "SuBiLSTM, max_context=8"
        ),
        "depth-adaptive GRN": Contestant(lambda: keras_slstm.DepthAdaptiveGRN(units, seed=0)),
        "depth-adaptive GRN, rematerialize": Contestant(
            lambda: keras_slstm.DepthAdaptiveGRN(units, seed=0, **again), "depth-adaptive GRN"
        ),
        "GRN of full depth, no BiLSTM": Contestant(lambda: keras_slstm.DepthAdaptiveGRN(units, **full_depth)),
        "GRN of full depth, no BiLSTM, rematerialize": Contestant(
            lambda: keras_slstm.DepthAdaptiveGRN(units, **full_depth, **again), "GRN of full depth, no BiLSTM"
        ),
        f"CRF of {LABELS} labels": Contestant(lambda: keras_slstm.CRF(LABELS)),
        "LSTM of Keras": Contestant(lambda: keras.layers.LSTM(units)),
        f"CAS-LSTM of one layer, {segments}": Contestant(
            lambda: keras_slstm.CASLSTM(units, num_layers=1, segment_length=segment_length), "LSTM of Keras"
        ),
    }


def measure(args: argparse.Namespace, words: int) -> dict[str, Any]:
    """Train one layer in this process, and return what is measured."""
    keras.utils.set_random_seed(0)
    layer = contestants(args.units, args.segment_length)[args.measure].make()
    tags = isinstance(layer, keras_slstm.CRF)
    model = keras.Sequential([layer] if tags else [layer, keras.layers.Dense(2, activation="softmax")])
    loss = keras_slstm.CRFLoss() if tags else "sparse_categorical_crossentropy"
    model.compile("adam", loss, jit_compile=timing.BACKEND == "jax")
    x = np.random.default_rng(0).normal(size=(1, words, args.units)).astype("float32")
    y = np.zeros((1, words) if tags else 1, int)
    model.build(x.shape)
    seconds = []

    def step() -> None:
        started = time.perf_counter()
        model.train_on_batch(x, y)
        seconds.append(time.perf_counter() - started)

    megabytes = memory.growth(step, times=2)
    return {
        "encoder": args.measure, "words": words, "megabytes": megabytes, "first_step": seconds[0],
        "seconds": seconds[1],
    }  # fmt: skip


def table(result: dict[str, Any]) -> str:
    """Return a Markdown table of megabytes by length, and of the seconds of a step on the longest text."""
    settings, rows = result["settings"], result["rows"]
    lengths = sorted({row["words"] for row in rows})
    found = {(row["encoder"], row["words"]): row for row in rows}
    lines = ["| | " + " | ".join(f"{words:,} words" for words in lengths) + " | seconds a step |"]
    lines.append("| --- |" + " ---: |" * (len(lengths) + 1))
    for name, contestant in contestants(settings["units"], settings["segment_length"]).items():
        cells = [f"{found[name, n]['megabytes']:.0f}" if (name, n) in found else "" for n in lengths]
        longest = max((n for n in lengths if (name, n) in found), default=None)
        if longest is None:
            continue
        seconds = found[name, longest]["seconds"]
        taken = f"{seconds:.1f}" if longest == max(lengths) else f"{seconds:.1f} ({longest:,} words)"
        if (contestant.counterpart, longest) in found:
            taken += f"; {seconds / found[contestant.counterpart, longest]['seconds']:.1f} x"
        lines.append(f"| {name} | " + " | ".join([*cells, taken]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure each encoder in a new process, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", nargs="+", type=int, default=[1000, 4000, 10_000])
    parser.add_argument("--units", type=int, default=100)
    parser.add_argument("--segment-length", type=int, default=500)
    parser.add_argument("--encoders", nargs="+", help="(default: all)")
    parser.add_argument("--output", type=Path, default=Path("runs", f"long-texts-{timing.BACKEND}"))
    parser.add_argument("--measure", help=argparse.SUPPRESS)  # in the new process
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args, *args.words)))
        return

    settings = {name: getattr(args, name) for name in ("units", "segment_length")}
    head = {"conditions": conditions(), "settings": settings}
    path = args.output / "long_texts.json"
    args.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    if path.exists():  # continue an interrupted run with the same settings
        before = json.loads(path.read_text(encoding="utf-8"))
        if before["settings"] != settings or before["conditions"]["versions"] != head["conditions"]["versions"]:
            parser.error(f"{path} holds measurements with other settings or versions: choose another --output")
        rows = before["rows"]
    options = [f"--units={args.units}", f"--segment-length={args.segment_length}"]
    done = {(row["encoder"], row["words"]) for row in rows}
    found = contestants(args.units, args.segment_length)
    for name in args.encoders or found:
        for words in args.words:
            if (name, words) in done or words > (found[name].max_words or words):
                continue
            run = (f"--measure={name}", f"--words={words}", *options)
            rows.append(memory.in_new_process("benchmarks.long_texts", *run))
            print(json.dumps(rows[-1]), flush=True)
            write_json(path, {**head, "rows": rows})
    print(f"\n{args.units} units, {timing.BACKEND}\n\n{table({**head, 'rows': rows})}")


if __name__ == "__main__":
    main()
