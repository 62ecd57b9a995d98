"""Compares the throughput of several processes with that of one, and measures the cost of communication.

    python -m benchmarks.scaling --backends jax                                             # about four minutes
    python -m benchmarks.scaling --units 64 --batch 8 --steps 3 --rounds 1 --backends jax   # a trial
    python -m benchmarks.scaling --backends jax --huge-pages                                # memory in huge pages
    LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1 python -m benchmarks.scaling

`keras_slstm.distribute.fit` trains an S-LSTM classifier (300 units, 32 words, a vocabulary of 10,000), on TensorFlow
under MultiWorkerMirroredStrategy, on JAX with `keras.distribution`, and on PyTorch with `torch.distributed`. Each
process is pinned to one core. The benchmark runs, in turn:

- one process, with 32 sentences per step;
- two processes, each with a model of its own, which shows how much they slow each other down without any exchange;
- two processes that train one model, each with 32 sentences per step;
- one process with the batches of both, whose losses should be those of two processes.

The share of communication is the part of a step that exceeds the step of a single process: the exchange of gradients,
the wait for the slowest process, and the competition for memory. Run the benchmark on an idle machine. Results of
another memory allocator (the last two commands) are kept beside those of the C library's.
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
from typing import Any, NamedTuple, TypedDict

VOCABULARY, LABELS = 10_000, 5
BACKENDS = ("tensorflow", "jax", "torch")


class Steps(TypedDict):
    """The seconds of each measured step, and the losses of all steps."""

    seconds: list[float]
    losses: list[float]


class Way(NamedTuple):
    """A way to train.

    Attributes:
        processes: Number of processes.
        apart: Whether each process trains a model of its own.
        whole: Whether a single process takes the batches of all processes.
    """

    processes: int
    apart: bool = False
    whole: bool = False


def main() -> int:
    """Measure and print a table."""
    args = parse_arguments()
    if args.worker:
        return work(args)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < args.workers:
        print(f"{args.workers} processes need one core each, but this machine has {len(cores)}.", file=sys.stderr)
        return 2
    if args.huge_pages:
        os.environ["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"  # for the processes that train
    ways = {
        "1": Way(1),
        "apart": Way(args.workers, apart=True),
        str(args.workers): Way(args.workers),
        "whole": Way(1, whole=True),
    }
    found: dict[str, dict[str, list[Steps]]] = {name: {way: [] for way in ways} for name in args.backends}
    for _ in range(args.rounds):
        for backend in args.backends:
            for name, way in ways.items():  # in turn, so that changes in the machine's speed affect all
                steps = measure(args, backend, way)
                found[backend][name].append(steps)
                median = statistics.median(steps["seconds"])
                print(f"{backend}, {name}: {1000 * median:.0f} ms", file=sys.stderr, flush=True)
    summaries = [summary(args, backend, runs) for backend, runs in found.items()]
    show(summaries)
    if args.output:
        write(args.output, summaries)
    return 0


def summary(args: argparse.Namespace, backend: str, runs: dict[str, list[Steps]]) -> dict[str, Any]:
    """Summarize all steps."""
    from keras_slstm.training.results import processor

    many = str(args.workers)
    seconds = {way: [value for steps in found for value in steps["seconds"]] for way, found in runs.items()}
    medians = {way: statistics.median(values) for way, values in seconds.items()}
    throughput = {"1": args.batch / medians["1"], many: args.workers * args.batch / medians[many]}
    pairs = zip(runs[many][0]["losses"], runs["whole"][0]["losses"], strict=True)
    settings = ("units", "batch", "length", "sweeps", "optimizer", "jit_compile")
    return {
        "backend": backend,
        "machine": processor(),
        "allocator": allocator(),
        "versions": {name: version(name) for name in ("keras", backend)},
        "settings": {name: vars(args)[name] for name in settings},
        "seconds": {way: seconds[way] for way in ("1", many)},
        "seconds_apart": seconds["apart"],
        "seconds_whole": seconds["whole"],
        "milliseconds_a_step": {way: 1000 * medians[way] for way in ("1", many)},
        "sentences_per_second": throughput,
        "speedup": throughput[many] / throughput["1"],
        "share_of_communication": max(0.0, 1 - medians["1"] / medians[many]),
        "difference_of_losses": max(abs(loss / expected - 1) for loss, expected in pairs),
    }


def allocator() -> str:
    """Return the name of the memory allocator of the processes."""
    name = Path(os.environ.get("LD_PRELOAD", "")).name or platform.libc_ver()[0]
    return f"{name}, huge pages" if "malloc.hugetlb=1" in os.environ.get("GLIBC_TUNABLES", "") else name


def write(path: Path, summaries: list[dict[str, Any]]) -> None:
    """Write the summaries to a file, in place of those of the same backends and allocators."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    measured = {(result["backend"], result["allocator"]): result for result in (*before, *summaries)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(measured.values()), indent=1) + "\n", encoding="utf-8")


def show(found: list[dict[str, Any]]) -> None:
    """Print a line for each backend and number of processes."""
    columns = (
        f"{'backend':12} {'processes':>9} {'ms/step':>10} {'sentences/s':>12} {'speedup':>8} {'communication':>14}"
    )
    print(f"{columns} {'difference of losses':>21}")
    for result in found:
        for count, rate in result["sentences_per_second"].items():
            line = f"{result['backend']:12} {count:>9} {result['milliseconds_a_step'][count]:10.1f} {rate:12.1f}"
            if count != "1":
                line += f" {result['speedup']:8.2f} {100 * result['share_of_communication']:13.0f}%"
                line += f" {result['difference_of_losses']:21.1e}"
            print(line)


def measure(args: argparse.Namespace, backend: str, way: Way) -> Steps:
    """Start the processes; return the seconds and the losses of the first one's steps."""
    from keras_slstm.distribute.launcher import Workers

    with tempfile.TemporaryDirectory() as folder:
        names = ("units", "batch", "length", "sweeps", "steps", "optimizer", "workers")
        command = [sys.executable, "-m", "benchmarks.scaling", "--worker", folder]
        command += [f"--{name}={vars(args)[name]}" for name in names]
        chosen = {"--jit-compile": args.jit_compile, "--apart": way.apart, "--whole": way.whole}
        command += [option for option, given in chosen.items() if given]
        one_thread = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "2"}
        environment = {**one_thread, "KERAS_BACKEND": backend}
        with Workers(command, way.processes, environment, logs=folder) as workers:
            if any(workers.wait(args.limit)):
                print((Path(folder) / "worker-0.log").read_text(errors="replace")[-3000:], file=sys.stderr)
                raise SystemExit(1)
        return json.loads((Path(folder) / "steps.json").read_text(encoding="utf-8"))


def work(args: argparse.Namespace) -> int:
    """Train in one of the processes; the chief writes the seconds and the loss of each step."""
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
        """Records the loss of each step, and the time at which it is known."""

        def __init__(self) -> None:
            super().__init__()
            self.losses: list[float] = []
            self.ends: list[float] = []

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.losses.append(float(logs["loss"]))
            self.ends.append(time.perf_counter())

    cluster = distribute.find_cluster()
    size = args.workers if args.whole else 1 if cluster is None else cluster.size
    rng = np.random.default_rng(0)
    rows = args.batch * size * (args.steps + 4)
    x = rng.integers(1, VOCABULARY, size=(rows, args.length)).astype("int32")
    y = rng.integers(0, LABELS, size=rows)
    clock = Clock()
    distribute.fit(model, x, y, batch_size=args.batch * size, shuffle=False, verbose=0, callbacks=[clock])
    if index == 0:
        seconds = np.diff(clock.ends)[3:].tolist()  # the first steps trace and warm up
        steps = Steps(seconds=seconds, losses=clock.losses)
        (Path(args.worker) / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
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
    parser.add_argument("--huge-pages", action="store_true", help="let glibc (2.35 or later) use huge pages")
    parser.add_argument("--steps", type=int, default=10, help="measured steps per start (default: 10)")
    parser.add_argument("--rounds", type=int, default=2, help="starts of each way to train (default: 2)")
    parser.add_argument("--limit", type=float, default=1800.0, help="time limit of a start in seconds (default: 1800)")
    parser.add_argument("--output", type=Path, help="add the results to this JSON file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--apart", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--whole", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for name in ("units", "batch", "length", "sweeps", "steps", "rounds"):
        if vars(args)[name] < 1:
            parser.error(f"--{name} must be at least 1, but got {vars(args)[name]}")
    if args.workers < 2:
        parser.error(f"--workers must be at least 2, but got {args.workers}")
    return args


if __name__ == "__main__":
    sys.exit(main())
