"""The memory that something needs: by how much it raises the largest resident set of a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

from benchmarks import timing

MEGABYTE = 1e6


def in_new_process(module: str, *arguments: str) -> float:
    """Megabytes, as `python -m module arguments` prints them with `print_growth`."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return json.loads(done.stdout.splitlines()[-1])


def print_growth(step: timing.Step) -> None:
    """Run a step three times and print by how many megabytes that raised the largest resident set."""
    # The same before every step, so that what a backend allocates once is there before.
    timing.matrix_products([(8, 8, 8, 1)], "float32", timing.MODES[0], backward=True)()
    before = largest_resident_set()
    for _ in range(3):
        step()
    print(json.dumps(largest_resident_set() - before))


def largest_resident_set() -> float:
    """Of this process, in megabytes."""
    if sys.platform == "linux":  # where `getrusage` counts what the parent had when it started this process, too
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / MEGABYTE
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEGABYTE
