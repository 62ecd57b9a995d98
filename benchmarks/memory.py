"""Measures the memory of a step by how much it raises the peak resident set size of a new process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import timing

MEGABYTE = 1e6


def in_new_process(module: str, *arguments: str) -> Any:
    """Return the JSON of the last line that `python -m module arguments` prints."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return json.loads(done.stdout.splitlines()[-1])


def print_growth(step: timing.Step) -> None:
    """Run a step three times and print by how many megabytes it raised the peak resident set size."""
    print(json.dumps(growth(step)))


def growth(step: timing.Step, times: int = 3) -> float:
    """Run a step several times and return by how many megabytes it raised the peak resident set size."""
    # Run a small product first, so that the memory that a backend allocates once is not counted.
    timing.matrix_products([(8, 8, 8, 1)], "float32", timing.MODES[0], backward=True)()
    before = largest_resident_set()
    for _ in range(times):
        step()
    return largest_resident_set() - before


def largest_resident_set() -> float:
    """Return the peak resident set size of this process in megabytes."""
    if sys.platform == "linux":  # here, `getrusage` also counts the memory of the parent process at the start
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / MEGABYTE
    return _largest(resource.RUSAGE_SELF)


def largest_resident_set_of_children() -> float:
    """Return the peak resident set size, in megabytes, of the largest child process that has ended."""
    return _largest(resource.RUSAGE_CHILDREN)


def _largest(who: int) -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit / MEGABYTE
