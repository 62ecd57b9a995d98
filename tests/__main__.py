"""Run the whole suite on every installed backend: `python -m tests [pytest options]`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time

BACKENDS = ("tensorflow", "jax", "torch")
# What is compiled here runs once or twice: to optimise it takes longer than to run it.
XLA_FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
# Compiles in two thirds of the time, where XLA has the choice still.
SIMPLE_FUSIONS = "--xla_cpu_use_fusion_emitters=false"
COMPILE_SOMETHING = {
    "tensorflow": "import tensorflow as tf; tf.function(tf.sin, jit_compile=True)(tf.ones(3))",
    "jax": "import jax; jax.numpy.ones(3)",
}
# What computes nothing with tensors, and the README: once is enough.
ON_TENSORFLOW = ("tests/text", "tests/datasets", "tests/benchmarks", "tests/test_plots.py", "tests/test_readme.py")
# Scripts and searches know nothing of backends: PyTorch compiles nothing, and starts the fastest.
ON_TORCH = (
    "tests/examples",
    *(f"tests/tuning/test_{name}.py" for name in ("confirmation", "scripts", "search", "spaces")),
)
# What is put together of parts that are tested on JAX; it would be compiled there for minutes.
NOT_ON_JAX = tuple(
    f"tests/models/test_{name}.py"
    for name in (
        "bcn",
        "contextual",
        "encoders",
        "esim",
        "gate_histograms",
        "mlp",
        "recurrent_stack",
        "sentence_encoder",
    )
)
LEFT_OUT = {"tensorflow": ON_TORCH, "jax": ON_TENSORFLOW + ON_TORCH + NOT_ON_JAX, "torch": ON_TENSORFLOW}


def main() -> int:
    """Run pytest once for each backend and return the worst exit status."""
    worst = 0
    with tempfile.TemporaryDirectory() as cache:
        # What one process of JAX has compiled, the others read: half of its time is compilation.
        shared = {
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            # Each process of xdist takes one core: more threads than cores only wait for each other.
            "OMP_NUM_THREADS": "1",
            "XLA_FLAGS": os.environ.get("XLA_FLAGS") or xla_flags(),
        }
        for backend in BACKENDS:
            print(f"\n=== {backend} ===", flush=True)
            start = time.monotonic()
            options = sys.argv[1:] or ["-q", "-n", str(os.cpu_count() or 1), "--dist", "loadgroup", "--durations", "10"]
            left_out = [f"--ignore={path}" for path in LEFT_OUT[backend]]
            command = [sys.executable, "-m", "pytest", *options, *left_out]
            environment = {**os.environ, **shared, "KERAS_BACKEND": backend}
            status = subprocess.run(command, env=environment, check=False).returncode
            print(f"=== {backend}: exit status {status} after {time.monotonic() - start:.0f} s ===", flush=True)
            worst = max(worst, abs(status))
    return worst


def xla_flags() -> str:
    """Those that all installed backends know: XLA ends the process at one that it does not."""
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
