"""Measures the LSTM of keras#20998 on one and two devices of JAX, with Keras' `fit` and with `distribute.fit`.

    python -m benchmarks.reports --output benchmarks/results/lstm_devices.json      # about two minutes

Each device has one core. The programs are in `docs/guides/reports`. Run the benchmark on an idle machine.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import statistics
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from keras_slstm.files import write_json
from keras_slstm.training.results import processor

PROGRAMS = Path(__file__).parents[1] / "docs" / "guides" / "reports"
ONE_CORE = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"
TWO_DEVICES = "--xla_force_host_platform_device_count=2"
# The command before the program, the program, and the flags of XLA.
WAYS = {
    "one device, Keras' `fit`": ((*ONE_CORE, sys.executable), "lstm.py", ""),
    "two devices, Keras' `fit`": ((sys.executable,), "lstm.py", TWO_DEVICES),
    "two devices, `distribute.fit`": ((sys.executable,), "lstm_distribute.py", TWO_DEVICES),
    "two processes, `distribute.fit`": (
        (sys.executable, "-m", "keras_slstm.distribute", "--workers", "2"),
        "lstm_distribute.py",
        ONE_THREAD,
    ),
}


def measure(way: str) -> tuple[float, list[float]]:
    """Return the windows per second and the losses of a training."""
    command, program, flags = WAYS[way]
    environment = {**os.environ, "XLA_FLAGS": flags, "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        [*command, str(PROGRAMS / program)], env=environment, check=True, capture_output=True, text=True
    )
    rate = re.search(r"windows per second: (\d+)", found.stdout)
    losses = re.search(r"losses: (.*)", found.stdout)
    if rate is None or losses is None:
        raise RuntimeError(f"{program} printed {found.stdout!r}.")
    return float(rate[1]), ast.literal_eval(losses[1])


def main() -> None:
    """Measure all ways in turn, and print or write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=2, help="starts of each program (default: 2)")
    parser.add_argument("--output", type=Path, help="write the results to this JSON file")
    args = parser.parse_args()
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    losses: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        for way in WAYS:
            rate, losses[way] = measure(way)
            rates[way].append(rate)
            print(f"{way}: {rate:.0f} windows per second", flush=True)
    expected = losses[next(iter(WAYS))]
    rows: list[dict[str, Any]] = [
        {
            "way": way,
            "windows_per_second": found,
            "speedup": statistics.median(found) / statistics.median(next(iter(rates.values()))),
            "difference_of_losses": max(abs(a / b - 1) for a, b in zip(losses[way], expected, strict=True)),
        }
        for way, found in rates.items()
    ]
    result = {
        "machine": processor(),
        "versions": {name: version(name) for name in ("keras", "jax")},
        "rows": rows,
    }
    if args.output:
        write_json(args.output, result)


if __name__ == "__main__":
    main()
