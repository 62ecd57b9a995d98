"""Run the tests on every backend: `python -m tests [--ci | --full] [--backend NAME] [pytest options]`.

The short run applies every check to every layer, operation and model, but runs most slow tests only on PyTorch. `--ci`
runs these on the other backends, and the longer tests. `--full` runs everything, including repetitions: further
variants of a layer, and models composed of tested parts, on the backends that take minutes to compile them.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time

BACKENDS = ("tensorflow", "jax", "torch")
# Tests run each compiled function once or twice, so XLA's optimisation passes are switched off.
XLA_FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
# Saves a third of the compile time in versions of XLA with this flag.
SIMPLE_FUSIONS = "--xla_cpu_use_fusion_emitters=false"
NO_TESTS_COLLECTED = 5  # pytest's exit status if the markers deselect all tests of a backend
COMPILE_SOMETHING = {
    "tensorflow": "import tensorflow as tf; tf.function(tf.sin, jit_compile=True)(tf.ones(3))",
    "jax": "import jax; jax.numpy.ones(3)",
}


def main() -> int:
    """Run pytest once for each backend and return the worst exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests", description=__doc__.partition("\n")[0], allow_abbrev=False, add_help=False
    )
    runs = parser.add_mutually_exclusive_group()
    runs.add_argument("--ci", action="store_true")
    runs.add_argument("--full", action="store_true")
    parser.add_argument("--backend", action="append", choices=BACKENDS)
    arguments, options = parser.parse_known_args()
    options = options or ["-q", "-n", str(os.cpu_count() or 1), "--dist", "loadgroup", "--durations", "10"]
    options += ["--suite", "full" if arguments.full else "ci" if arguments.ci else "short"]
    worst = 0
    with tempfile.TemporaryDirectory() as cache:
        shared = {
            # The processes of pytest-xdist share JAX's compilation cache, because compilation takes half of the time.
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            # Each process of pytest-xdist uses one core, because more threads than cores only wait for each other.
            "OMP_NUM_THREADS": "1",
            "XLA_FLAGS": os.environ.get("XLA_FLAGS") or xla_flags(),
        }
        for backend in arguments.backend or BACKENDS:
            print(f"\n=== {backend} ===", flush=True)
            start = time.monotonic()
            environment = {**os.environ, **shared, "KERAS_BACKEND": backend}
            status = subprocess.run([sys.executable, "-m", "pytest", *options], env=environment, check=False).returncode
            print(f"=== {backend}: exit status {status} after {time.monotonic() - start:.0f} s ===", flush=True)
            if status != NO_TESTS_COLLECTED:
                worst = max(worst, abs(status))
    return worst


def xla_flags() -> str:
    """Return the flags that all installed backends know, because XLA aborts on an unknown one."""
    every = f"{XLA_FLAGS} {SIMPLE_FUSIONS}"
    for backend, code in COMPILE_SOMETHING.items():
        if importlib.util.find_spec(backend):
            environment = {**os.environ, "XLA_FLAGS": every}
            if subprocess.run(
                [sys.executable, "-c", code], env=environment, check=False, capture_output=True
            ).returncode:
                return XLA_FLAGS
    return every


if __name__ == "__main__":
    sys.exit(main())
