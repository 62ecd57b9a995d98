"""The commands keep freed memory instead of returning it to the system after each update."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from keras_slstm.cli import memory
from keras_slstm.cli.memory import keep_freed_memory

PROGRAM = """
import resource, runpy
{call}
for _ in range(20):
    [bytearray(2**23) for _ in range(8)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


def page_faults(call: str = "") -> int:
    """Return how often a new process that frees and needs 64 MiB 20 times gets a new page."""
    program = [sys.executable, "-c", PROGRAM.format(call=call)]
    return int(subprocess.run(program, capture_output=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings")
def test_freed_memory_is_used_again():
    assert keep_freed_memory()
    call = f"runpy.run_path({memory.__file__!r})['keep_freed_memory']()"
    assert page_faults(call) < page_faults() / 4


def test_other_c_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not keep_freed_memory()
