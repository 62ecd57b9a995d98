"""The time since this process was started."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

_IMPORTED = time.monotonic()


def process_age() -> float:
    """Return the seconds since this process was started or, if the system does not say, since this import.

    In a notebook or at Python's prompt, return 0, because a person may start the training long after the process.
    """
    if hasattr(sys, "ps1") or "ipykernel" in sys.modules:
        return 0.0
    try:
        # Split after the program's name, which is in parentheses and may contain spaces. Field 22 is the start of
        # the process, in ticks since the system was booted.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic() - _IMPORTED
