"""Compares the time and memory of this package's encoders with those of Keras.

    KERAS_BACKEND=tensorflow python -m benchmarks.encoders --output runs/encoders-tensorflow

For each sentence length, the benchmark measures training (forward and backward, without an optimizer), inference and
memory. The *floor* is the time of the matrix products on which the outputs of the S-LSTM depend, on the same backend,
compiled in the same mode, in the same run: a sentence vector needs fewer than the outputs of all words. The backward
pass adds twice as many products; the gradients of the weights are computed step by step or for all steps at once,
whichever is faster. The *best floor* runs them in the fastest mode of the backend. A CAS-LSTM is also compared with
Keras' stacked LSTM layers of the same size, a SuBiLSTM with a BiLSTM (`benchmarks.subilstm` measures more), and the
S-LSTM with other authors' implementations (`benchmarks.peers` says how to install them). On PyTorch, the S-LSTM runs
eagerly and by `torch.compile`, which takes half a minute for each length, both beside the eager floor; the port cannot
be compiled on a CPU. All encoders run in turn, and the medians over the rounds are reported. With `--masked`, the
sentences of a batch have half to all of the words, and padding; the floor counts the padding as words.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

import keras_slstm
from benchmarks import memory, timing
from benchmarks.peers import AUTHORS, PORT, peers
from keras_slstm.files import write_json
from keras_slstm.models.encoders import build_encoder
from keras_slstm.training.results import conditions

# The Keras layers to which an encoder is compared directly.
COUNTERPARTS = {"CAS-LSTM": "2 stacked LSTM", "Bi-CAS-LSTM": "2 stacked BiLSTM", "SuBiLSTM": "BiLSTM"}
# Other implementations of an encoder: these are compared with ours.
COUNTERPARTS |= {AUTHORS: "S-LSTM", PORT: "S-LSTM"}
SEQUENCES = "S-LSTM, all words"
FLOOR, FLOOR_SEQUENCES = "floor", "floor, all words"
JOINED = ", weight gradients of all steps at once"
# On PyTorch, only encoders without a loop over time are compiled, because it would be unrolled. The floor has no
# compiled mode: compiling does not speed up a product.
MODES = (*timing.MODES, "compiled") if timing.BACKEND == "torch" else timing.MODES
COMPILED = ("S-LSTM", SEQUENCES)
# XLA takes the input of the authors' gradient for a compile-time constant: it folds most of the work into the program,
# and compiles for minutes for each new input.
NOT_COMPARABLE = {("training", "xla", AUTHORS)}


def encoders(units: int, steps: int) -> dict[str, Callable[[], keras.Layer]]:
    """Return the encoders by name. Each maps `(batch, time, units)` to a sentence vector."""

    def lstm(**kwargs: Any) -> keras.Layer:
        return keras.layers.LSTM(units, **kwargs)

    def bilstm(**kwargs: Any) -> keras.Layer:
        return keras.layers.Bidirectional(lstm(**kwargs))

    return {
        "S-LSTM": lambda: keras_slstm.SLSTM(units, steps=steps),
        SEQUENCES: lambda: keras_slstm.SLSTM(units, steps=steps, return_sequences=True),
        "BiLSTM": bilstm,
        "2 stacked BiLSTM": lambda: keras.Sequential([bilstm(return_sequences=True), bilstm()]),
        "2 stacked LSTM": lambda: keras.Sequential([lstm(return_sequences=True), lstm()]),
        "CAS-LSTM": lambda: keras_slstm.CASLSTM(units, num_layers=2),
        "Bi-CAS-LSTM": lambda: keras.layers.Bidirectional(keras_slstm.CASLSTM(units, num_layers=2)),
        "SuBiLSTM": lambda: keras_slstm.SuBiLSTM(units),
        "3 MinGRU layers": lambda: build_encoder("mingru", units),
        "Transformer (8 blocks)": lambda: build_encoder("transformer", units, num_blocks=8, num_heads=6),
    }


def products(batch: int, length: int, units: int, steps: int, sequences: bool) -> list[tuple[int, int, int, int]]:
    """Return the matrix products in eq. 2 and 3 for `length` words, two boundary words and one sentence node.

    Before the first step, all words are the same vector, so that W needs a row for each place in the window; and the
    cells are zero, so that g stays zero. After the last step, only `sequences` need the words.
    """
    words, d = batch * (length + 2), units
    updates = steps - 1 if sequences else steps - 2
    return [
        (words, d, 7 * d, 1),  # x_i U, the same in every step
        (words, 3 * d, 7 * d, updates),  # xi_i W
        (words, d, d, steps - 1),  # h_i U_f
        (batch, d, 7 * d, updates - 1),  # g V
        (batch, d, 3 * d, steps - 2),  # g W_g, g W_f, g W_o
        (batch, d, 2 * d, steps - 1),  # mean(h) U_g, mean(h) U_o
    ]


def floors(args: argparse.Namespace, batch: int, length: int, kind: str) -> dict[tuple[str, str], timing.Step]:
    """Return the steps of the floors, in each way and mode, by name and mode."""
    dtype = "float32" if args.dtype == "float32" else args.dtype.removeprefix("mixed_")
    ways = {"": False, JOINED: True} if kind == "training" else {"": False}
    return {
        (name + way, mode): timing.matrix_products(
            products(batch, length, args.units, args.steps, sequences), dtype, mode, kind == "training", join
        )
        for name, sequences in ((FLOOR, False), (FLOOR_SEQUENCES, True))
        for way, join in ways.items()
        for mode in timing.MODES
    }


def fastest_floors(seconds: dict[tuple[str, str], list[float]]) -> dict[tuple[str, str], list[float]]:
    """Keep the faster way of each floor, under the name of the floor."""
    kept = {key: taken for key, taken in seconds.items() if not key[0].endswith(JOINED)}
    for (name, mode), taken in seconds.items():
        if name.endswith(JOINED):
            key = name.removesuffix(JOINED), mode
            kept[key] = min(kept[key], taken, key=statistics.median)
    return kept


def chosen_encoders(args: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    """Return the encoders and peers to measure, by name."""
    found = encoders(args.units, args.steps) | peers(args.units, args.steps, args.peers)
    return {name: make for name, make in found.items() if not args.encoders or name in args.encoders}


def measure(args: argparse.Namespace, batch: int, length: int) -> list[dict[str, Any]]:
    """Time all encoders in all modes for one batch size and length."""
    rng = np.random.default_rng(0)
    x = timing.tensor(rng.normal(size=(batch, length, args.units)).astype("float32"), "float32")
    mask = None
    if args.masked:
        words = rng.integers(length // 2, length + 1, size=(batch, 1))
        words[0] = length
        mask = keras.ops.convert_to_tensor(np.arange(length) < words)
    rows = []
    for kind in ("inference", "training"):
        run = floors(args, batch, length, kind)
        for mode in args.modes:
            for name, make in chosen_encoders(args).items():
                if (mode == "compiled" and name not in COMPILED) or (kind, mode, name) in NOT_COMPARABLE:
                    continue
                layer = make()
                layer.build(x.shape)
                step = timing.training_step if kind == "training" else timing.inference
                run[name, mode] = step(layer, x, mode, mask)
        seconds = fastest_floors(timing.in_turn(run, args.rounds))
        for (name, mode), taken in seconds.items():
            floor = FLOOR_SEQUENCES if name in (SEQUENCES, FLOOR_SEQUENCES) else FLOOR
            best = min((seconds[floor, other] for other in timing.MODES), key=statistics.median)
            median = statistics.median(taken)
            floor_mode = mode if mode in timing.MODES else timing.MODES[0]
            ratio = timing.median_ratio(taken, seconds[floor, floor_mode])
            to_best = timing.median_ratio(taken, best)
            counterpart = COUNTERPARTS.get(name, "")
            compared = {}
            text = f"{ratio:6.2f} x floor   {to_best:6.2f} x best floor"
            if (counterpart, mode) in seconds:
                to_counterpart = timing.median_ratio(taken, seconds[counterpart, mode])
                compared = {"counterpart": counterpart, "to_counterpart": to_counterpart}
                text += f"   {to_counterpart:6.2f} x {counterpart}"
            print(
                f"{kind:9} batch {batch:3} length {length:4} {mode:8} {name:23} {median * 1e3:9.1f} ms   {text}",
                flush=True,
            )
            rows.append(
                {
                    "kind": kind,
                    "encoder": name,
                    "mode": mode,
                    "batch": batch,
                    "length": length,
                    "seconds": median,
                    "fastest": min(taken),
                    "slowest": max(taken),
                    "to_floor": ratio,
                    "to_best_floor": to_best,
                    **compared,
                }
            )
    return rows


def peak_memory(args: argparse.Namespace, name: str, batch: int, length: int) -> float:
    """Return by how many megabytes training steps in the first mode raise a new process's peak resident set size."""
    size = {"lengths": length, "batches": batch, "units": args.units, "steps": args.steps, "dtype": args.dtype}
    options = [word for option, value in size.items() for word in (f"--{option}", str(value))]
    return memory.in_new_process("benchmarks.encoders", "--peak-of", name, *options)


def print_peak_memory(args: argparse.Namespace) -> None:
    """Run training steps. `peak_memory` calls this in a new process."""
    layer = encoders(args.units, args.steps)[args.peak_of]()
    shape = (args.batches[0], args.lengths[0], args.units)
    x = timing.tensor(np.zeros(shape, "float32"), "float32")
    layer.build(shape)
    memory.print_growth(timing.training_step(layer, x, timing.MODES[0]))


def table(rows: list[dict[str, Any]], peaks: dict[str, dict[str, float]], batch: int) -> str:
    """Return a Markdown table by length: milliseconds, and the ratios to the floor and to the counterpart."""
    lengths = sorted({row["length"] for row in rows})
    lines = ["| | " + " | ".join(f"length {n}" for n in lengths) + " |", "| --- |" + " ---: |" * len(lengths)]
    groups = dict.fromkeys((row["kind"], row["mode"], row["encoder"]) for row in rows)
    for kind, mode, name in groups:
        cells = []
        for n in lengths:
            key = (kind, mode, name, batch, n)
            found = (r for r in rows if (r["kind"], r["mode"], r["encoder"], r["batch"], r["length"]) == key)
            row = next(found, None)
            if row is None:
                cells.append("")
                continue
            ratios = [f"{row['to_floor']:.2f}"]
            if "counterpart" in row:
                ratios.append(f"{row['to_counterpart']:.2f} x {row['counterpart']}")
            cells.append(f"{row['seconds'] * 1e3:.0f} ms ({', '.join(ratios)})")
        lines.append(f"| {kind}, {mode}: {name} | " + " | ".join(cells) + " |")
    for name, by_length in peaks.items():
        cells = [f"{by_length[str(n)]:.0f} MB" if str(n) in by_length else "" for n in lengths]
        lines.append(f"| peak memory, training: {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(rows: list[dict[str, Any]], batch: int, path: Path) -> None:
    """Plot the time against the length, with one panel per kind and mode."""
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys((row["kind"], row["mode"]) for row in rows))
    figure = Figure(figsize=(4.5 * len(panels) + 2, 4), layout="constrained")
    for axis, (kind, mode) in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels):
        for name in dict.fromkeys(row["encoder"] for row in rows):
            chosen = [r for r in rows if (r["kind"], r["mode"], r["encoder"], r["batch"]) == (kind, mode, name, batch)]
            style = {"color": "0.5", "linestyle": "--"} if name.startswith(FLOOR) else {"marker": "o"}
            label = name.replace(FLOOR, "floor of the S-LSTM")
            axis.plot([r["length"] for r in chosen], [r["seconds"] * 1e3 for r in chosen], label=label, **style)
        axis.set(
            title=f"{kind}, {mode.replace('xla', 'XLA')}, batch {batch}",
            xlabel="words in a sentence",
            ylabel="milliseconds",
            ylim=0,
        )
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.3)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure, print, and write the tables and figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[16, 32, 64, 128, 256])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--units", type=int, default=300)
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES)
    parser.add_argument("--masked", action="store_true", help="fill up shorter sentences with padding, and mask it")
    parser.add_argument("--dtype", default="float32", choices=("float32", "mixed_bfloat16", "mixed_float16"))
    parser.add_argument("--encoders", nargs="+", help="names as in the table (default: all)")
    parser.add_argument("--peers", type=Path, help="folder with the repositories that `benchmarks.peers` names")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory")
    parser.add_argument("--output", type=Path, default=Path("runs", f"encoders-{timing.BACKEND}"))
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    args = parser.parse_args()
    keras.config.set_dtype_policy(args.dtype)
    if args.peak_of:
        print_peak_memory(args)
        return
    if unknown := set(args.encoders or []) - set(names := chosen_encoders(args)):
        parser.error(f"--encoders: {', '.join(sorted(unknown))} is none of {', '.join(names)}")

    args.output.mkdir(parents=True, exist_ok=True)
    settings = {name: value for name, value in vars(args).items() if name not in ("output", "peak_of", "peers")}
    for name, usual in {"masked": False, "modes": MODES}.items():
        if settings[name] == usual:
            del settings[name]  # earlier results do not have it
    settings["floor"] = "products that the outputs need"  # earlier results count those of all steps
    path = args.output / "encoders.json"
    head = {"conditions": conditions(), "settings": settings}
    rows: list[dict[str, Any]] = []
    peaks: dict[str, dict[str, float]] = {}
    if path.exists():  # continue an interrupted run with the same settings
        before = json.loads(path.read_text(encoding="utf-8"))
        if {name: before[name] for name in head} != head:
            parser.error(f"{path} holds measurements with other settings or versions: choose another --output")
        rows, peaks = before["rows"], before["peak_memory_mb"]

    def keep() -> None:
        write_json(path, {**head, "rows": rows, "peak_memory_mb": peaks})

    for batch in args.batches:
        for length in args.lengths:
            if not any((row["batch"], row["length"]) == (batch, length) for row in rows):
                rows += measure(args, batch, length)
                keep()
                timing.clear()
    if not args.no_memory:
        for name in encoders(args.units, args.steps):
            if name in chosen_encoders(args) and name not in peaks:
                peaks[name] = {str(n): peak_memory(args, name, max(args.batches), n) for n in args.lengths}
                print(f"peak memory of training, batch {max(args.batches)}: {name} {peaks[name]} MB", flush=True)
                keep()
    for batch in args.batches:
        text = table(rows, peaks if batch == max(args.batches) else {}, batch)
        (args.output / f"encoders-batch{batch}.md").write_text(text + "\n", encoding="utf-8")
        print(
            f"\nBatch {batch}, {args.dtype}, {timing.BACKEND}; in brackets: ratios to floor and counterpart\n\n{text}"
        )
        picture(rows, batch, args.output / f"encoders-batch{batch}.png")


if __name__ == "__main__":
    main()
