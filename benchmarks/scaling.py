"""Compares the throughput of several processes with that of one, and measures the cost of communication.

    python -m benchmarks.scaling                                                            # about five minutes
    python -m benchmarks.scaling --units 64 --batch 8 --steps 3 --rounds 1 --backends jax   # a trial

`keras_slstm.distribute.fit` trains an S-LSTM classifier (300 units, 32 words, a vocabulary of 10,000), on TensorFlow
under MultiWorkerMirroredStrategy, on JAX with `keras.distribution` and on PyTorch with `torch.distributed`. Every process is
pinned to one core and takes 32 sentences per step. One process trains alone; then both train side by side without any
exchange, which shows how much they slow each other down; then both train one model. The share of communication is the
part of a step that exceeds the step of a single process: the exchange of gradients, the wait for the slowest process and
the competition for memory. Run the benchmark on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

VOCABULARY, LABELS = 10_000, 5
BACKENDS = ("tensorflow", "jax", "torch")


def main() -> int:
    """Measure and print a table."""
    args = parse_arguments()
    if args.worker:
        return work(args)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < args.workers:
        print(f"{args.workers} processes need one core each, but this machine has {len(cores)}.", file=sys.stderr)
        return 2
    ways = {"1": (1, False), "apart": (args.workers, True), str(args.workers): (args.workers, False)}
    seconds: dict[str, dict[str, list[float]]] = {name: {way: [] for way in ways} for name in args.backends}
    for _ in range(args.rounds):
        for backend in args.backends:
            for way, (count, apart) in ways.items():  # in turn, so that changes in the machine's speed affect all
                found = measure(args, backend, count, apart)
                seconds[backend][way] += found
                print(f"{backend}, {way}: {1000 * statistics.median(found):.0f} ms", file=sys.stderr, flush=True)
    summaries = [summary(args, backend, values) for backend, values in seconds.items()]
    show(summaries)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(summaries, indent=1) + "\n", encoding="utf-8")
    return 0


def summary(args: argparse.Namespace, backend: str, seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Summarize the seconds of all steps."""
    apart = seconds.pop("apart")
    alone, together = (statistics.median(values) for values in seconds.values())
    throughput = {1: args.batch / alone, args.workers: args.workers * args.batch / together}
    settings = ("units", "batch", "length", "sweeps", "optimizer", "jit_compile")
    return {
        "backend": backend,
        "machine": platform.processor() or platform.machine(),
        "versions": {name: version(name) for name in ("keras", backend)},
        "settings": {name: vars(args)[name] for name in settings},
        "seconds": seconds,
        "seconds_apart": apart,
        "milliseconds_a_step": {count: 1000 * statistics.median(values) for count, values in seconds.items()},
        "sentences_per_second": {str(count): value for count, value in throughput.items()},
        "speedup": throughput[args.workers] / throughput[1],
        "share_of_communication": max(0.0, 1 - alone / together),
    }


def show(found: list[dict[str, Any]]) -> None:
    """Print a line for each backend and number of processes."""
    print(f"{'backend':12} {'processes':>9} {'ms/step':>10} {'sentences/s':>12} {'speedup':>8} {'communication':>14}")
    for result in found:
        for count, rate in result["sentences_per_second"].items():
            line = f"{result['backend']:12} {count:>9} {result['milliseconds_a_step'][count]:10.1f} {rate:12.1f}"
            if count != "1":
                line += f" {result['speedup']:8.2f} {100 * result['share_of_communication']:13.0f}%"
            print(line)


def measure(args: argparse.Namespace, backend: str, count: int, apart: bool) -> list[float]:
    """Start `count` processes, which train one model or, `apart`, one each; return the seconds of the first's steps."""
    from keras_slstm.distribute.launcher import Workers

    with tempfile.TemporaryDirectory() as folder:
        options = [
            f"--{name}={vars(args)[name]}" for name in ("units", "batch", "length", "sweeps", "steps", "optimizer")
        ]
        command = [sys.executable, "-m", "benchmarks.scaling", "--worker", folder, *options]
        command += ["--jit-compile"] if args.jit_compile else []
        command += ["--apart"] if apart else []
        one_thread = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "2"}
        environment = {**one_thread, "KERAS_BACKEND": backend}
        with Workers(command, count, environment, logs=folder) as workers:
            if any(workers.wait(args.limit)):
                print((Path(folder) / "worker-0.log").read_text(errors="replace")[-3000:], file=sys.stderr)
                raise SystemExit(1)
        return json.loads((Path(folder) / "seconds.json").read_text(encoding="utf-8"))


def work(args: argparse.Namespace) -> int:
    """Train in one of the processes; the chief writes the seconds of each step."""
    # Pin the process before an import starts threads.
    index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    if args.apart:
        del os.environ["TF_CONFIG"]
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[index]})

    import keras
    import numpy as np

    import keras_slstm
    from keras_slstm import distribute

    with distribute.strategy().scope():
        keras.utils.set_random_seed(0)
        model = keras.Sequential(
            [
                keras.Input((args.length,), dtype="int32"),
                keras.layers.Embedding(VOCABULARY, args.units, mask_zero=True),
                keras_slstm.SLSTM(args.units, steps=args.sweeps),
                keras.layers.Dense(LABELS, activation="softmax"),
            ]
        )
        jit = args.jit_compile or keras.backend.backend() == "jax"
        model.compile(args.optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=jit)

    class Clock(keras.callbacks.Callback):
        """Records the time at which the loss of each step is known."""

        def __init__(self) -> None:
            super().__init__()
            self.ends: list[float] = []

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            float(logs["loss"])
            self.ends.append(time.perf_counter())

    cluster = distribute.find_cluster()
    size = 1 if cluster is None else cluster.size
    rng = np.random.default_rng(0)
    rows = args.batch * size * (args.steps + 4)
    x = rng.integers(1, VOCABULARY, size=(rows, args.length)).astype("int32")
    y = rng.integers(0, LABELS, size=rows)
    clock = Clock()
    distribute.fit(model, x, y, batch_size=args.batch * size, shuffle=False, verbose=0, callbacks=[clock])
    if index == 0:
        seconds = np.diff(clock.ends)[3:].tolist()  # the first steps trace and warm up
        (Path(args.worker) / "seconds.json").write_text(json.dumps(seconds), encoding="utf-8")
    return 0


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=BACKENDS, help="(default: all)")
    parser.add_argument("--workers", type=int, default=2, help="number of processes (default: 2)")
    parser.add_argument("--units", type=int, default=300)
    parser.add_argument("--batch", type=int, default=32, help="sentences per process and step (default: 32)")
    parser.add_argument("--length", type=int, default=32, help="words per sentence (default: 32)")
    parser.add_argument("--sweeps", type=int, default=9, help="steps of the S-LSTM (default: 9)")
    parser.add_argument("--optimizer", default="adam")
    parser.add_argument("--jit-compile", action="store_true", help="compile with XLA (always on JAX)")
    parser.add_argument("--steps", type=int, default=10, help="measured steps per start (default: 10)")
    parser.add_argument("--rounds", type=int, default=3, help="starts per number of processes (default: 3)")
    parser.add_argument("--limit", type=float, default=1800.0, help="time limit of a start in seconds (default: 1800)")
    parser.add_argument("--output", type=Path, help="write the results to this JSON file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--apart", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for name in ("units", "batch", "length", "sweeps", "steps", "rounds"):
        if vars(args)[name] < 1:
            parser.error(f"--{name} must be at least 1, but got {vars(args)[name]}")
    if args.workers < 2:
        parser.error(f"--workers must be at least 2, but got {args.workers}")
    return args


if __name__ == "__main__":
    sys.exit(main())
