"""Compares the time and memory of the CRF with those of tensorflow-addons and pytorch-crf.

    KERAS_BACKEND=tensorflow python -m benchmarks.crf --output runs/crf-tensorflow
    KERAS_BACKEND=torch python -m benchmarks.crf --output runs/crf-torch

The reference is included if it is installed: tensorflow-addons (the extra `addons`) on TensorFlow, pytorch-crf on
PyTorch. The benchmark measures the mean negative log-likelihood with its gradient in scores and transitions, the memory
of that, and the decoding of the best labels. All measurements use the same scores, of right-padded sentences between
half the length and the full length. Each form of the CRF and the reference run in turn, and the medians over the rounds
are reported. The reference runs in the only mode that it supports: addons in a `tf.function`, because its gradient does
not compile with XLA, and pytorch-crf eagerly.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if __name__ == "__main__":  # tensorflow-addons needs it before TensorFlow is imported; importing modules do not
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import keras
import numpy as np
from keras import ops

import keras_slstm
from benchmarks import memory, timing
from keras_slstm.files import write_json
from keras_slstm.ops.crf_potentials import pack
from keras_slstm.ops.kernels import addons
from keras_slstm.training.results import conditions

REFERENCES = {"tensorflow": "tensorflow-addons", "torch": "pytorch-crf"}
MODULES = {"tensorflow-addons": "tensorflow_addons", "pytorch-crf": "torchcrf"}
Contestant = tuple[tuple[Any, ...], Callable[..., Any], Callable[..., Any]]


def contestants(batch: int, length: int, labels: int) -> dict[str, Contestant]:
    """Return by name: scores and transitions, a function for their mean negative log-likelihood, and a decoder."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(length // 2, length + 1, batch)
    lengths[0] = length
    mask = ops.convert_to_tensor(np.arange(length) < lengths[:, None])
    tags = ops.convert_to_tensor(rng.integers(0, labels, (batch, length)).astype("int32"))
    unary, transitions, pairwise = (
        timing.tensor(rng.normal(size=shape).astype("float32"), "float32")
        for shape in ((batch, length, labels), (labels, labels), (batch, length, labels, labels))
    )

    def loss(unary: Any, transitions: Any) -> Any:
        return -ops.mean(keras_slstm.crf_log_likelihood(pack(unary, transitions, mask), tags))

    def decode(unary: Any, transitions: Any) -> Any:
        return keras_slstm.crf_decode(pack(unary, transitions, mask))

    found: dict[str, Contestant] = {
        "keras_slstm": ((unary, transitions), loss, decode),
        "keras_slstm, pairwise": ((unary, pairwise), loss, decode),
    }
    reference = REFERENCES.get(timing.BACKEND)
    if reference is None or importlib.util.find_spec(MODULES[reference]) is None:
        return found
    if reference == "tensorflow-addons":
        text, sizes = addons.load().text, ops.convert_to_tensor(lengths.astype("int32"))
        found[reference] = (
            (unary, transitions),
            lambda unary, transitions: -ops.mean(text.crf_log_likelihood(unary, tags, sizes, transitions)[0]),
            lambda unary, transitions: text.crf_decode(unary, transitions, sizes)[0],
        )
    else:
        import torch
        import torchcrf

        crf = torchcrf.CRF(labels, batch_first=True)
        free = torch.zeros(labels)

        def assign(transitions: Any) -> None:
            for name, value in (("transitions", transitions), ("start_transitions", free), ("end_transitions", free)):
                crf._parameters.pop(name, None)
                setattr(crf, name, value)

        def reference_loss(unary: Any, transitions: Any) -> Any:
            assign(transitions)
            return -crf(unary, tags.long(), mask=mask, reduction="mean")

        def reference_decode(unary: Any, transitions: Any) -> Any:
            assign(transitions)
            return crf.decode(unary, mask=mask)

        found[reference] = ((unary, transitions), reference_loss, reference_decode)
    return found


def steps(kind: str, contestant: Contestant, mode: str) -> timing.Step:
    """Return a call of the loss with its gradient, or of the decoder."""
    arguments, loss, decode = contestant
    if kind == "loss and gradient":
        return timing.gradient(loss, mode, *arguments)
    return timing.compiled(decode, mode, *arguments)


def measure(args: argparse.Namespace, length: int, labels: int) -> list[dict[str, Any]]:
    """Time everything in all modes for one size. Return a row for each."""
    rows: list[dict[str, Any]] = []
    taking_part = contestants(args.batch, length, labels)
    reference = REFERENCES.get(timing.BACKEND, "")
    ours = [name for name in taking_part if name != reference]
    for kind in ("loss and gradient", "decoding"):
        # Each form alternates only with the reference, because any call after the large arrays of the pairwise form
        # takes half as long again.
        for form in ours:
            run = {
                (name, mode): steps(kind, taking_part[name], mode)
                for name in dict.fromkeys((form, reference))
                if name in taking_part
                for mode in (timing.MODES if name != reference else timing.MODES[:1])
            }
            seconds = timing.in_turn(run, args.rounds)
            compared = seconds.get((reference, timing.MODES[0]))
            for (name, mode), taken in seconds.items():
                if name == reference and form != ours[0]:
                    continue
                row: dict[str, Any] = {
                    "kind": kind, "name": name, "mode": mode, "labels": labels, "length": length,
                    "seconds": statistics.median(taken), "fastest": min(taken), "slowest": max(taken),
                }  # fmt: skip
                if compared is not None:
                    row["faster"] = timing.median_ratio(compared, taken)
                rows.append(row)
                faster = f"{row['faster']:6.1f} x faster than {reference}" if compared is not None else ""
                print(
                    f"{kind:17} {labels:3} labels, length {length:4} {mode:5} {name:22} "
                    f"{row['seconds'] * 1e3:8.2f} ms {faster}",
                    flush=True,
                )
    return rows


def peak_memory(args: argparse.Namespace, name: str, length: int, labels: int) -> float:
    """Return by how many megabytes the loss with its gradient raises the peak resident set size of a new process."""
    size = {"lengths": length, "labels": labels, "batch": args.batch}
    options = [word for option, value in size.items() for word in (f"--{option}", str(value))]
    return memory.in_new_process("benchmarks.crf", "--peak-of", name, *options)


def table(rows: list[dict[str, Any]], kind: str) -> str:
    """Return a Markdown table of milliseconds and, in brackets, the speed-up over the reference."""
    sizes = list(dict.fromkeys((row["labels"], row["length"]) for row in rows))
    lines = ["| | " + " | ".join(f"{k} labels, {n} words" for k, n in sizes) + " |", "| --- |" + " ---: |" * len(sizes)]
    chosen = [row for row in rows if row["kind"] == kind]
    for name, mode in dict.fromkeys((row["name"], row["mode"]) for row in chosen):
        cells = []
        for size in sizes:
            row = next(r for r in chosen if (r["name"], r["mode"], (r["labels"], r["length"])) == (name, mode, size))
            faster = f" ({row['faster']:.1f})" if "faster" in row else ""
            cells.append(f"{row['seconds'] * 1e3:.2f}{faster}")
        lines.append(f"| {name}, {mode} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=[9, 17, 50])
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory")
    parser.add_argument("--output", type=Path, default=Path("runs", f"crf-{timing.BACKEND}"))
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak_of:
        taking_part = contestants(args.batch, args.lengths[0], args.labels[0])
        memory.print_growth(steps("loss and gradient", taking_part[args.peak_of], timing.MODES[0]))
        return

    rows: list[dict[str, Any]] = []
    peaks: list[dict[str, Any]] = []
    for labels in args.labels:
        for length in args.lengths:
            rows += measure(args, length, labels)
            keras.backend.clear_session()
    for row in rows if not args.no_memory else []:
        if row["kind"] == "loss and gradient" and row["mode"] == timing.MODES[0]:
            size = {name: row[name] for name in ("name", "labels", "length")}
            peaks.append({**size, "megabytes": peak_memory(args, row["name"], row["length"], row["labels"])})
            print(f"peak memory: {peaks[-1]}", flush=True)

    found = conditions()
    for package in REFERENCES.values():
        if any(row["name"] == package for row in rows):
            found["versions"][package] = importlib.metadata.version(package)
    settings = {"batch": args.batch, "rounds": args.rounds}
    args.output.mkdir(parents=True, exist_ok=True)
    write_json(
        args.output / "crf.json", {"conditions": found, "settings": settings, "rows": rows, "peak_memory_mb": peaks}
    )
    for kind in dict.fromkeys(row["kind"] for row in rows):
        print(f"\n{kind}, batch {args.batch}, milliseconds\n\n{table(rows, kind)}")


if __name__ == "__main__":
    main()
