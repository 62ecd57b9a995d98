"""The time since this process was started."""

from __future__ import annotations

import os
import time
from pathlib import Path

_IMPORTED = time.monotonic()


def process_age() -> float:
    """Return the seconds since this process was started or, if the system does not tell, since this import."""
    try:
        # Split after the program's name, which stands in parentheses and may contain spaces. Field 22 is the start of
        # the process, in ticks since the system was booted.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic() - _IMPORTED
