"""Runs Python in a subprocess with a timeout."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_python(
    *arguments: object, limit: float = 400.0, folder: Path = ROOT, **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """Run Python with this package and return the output. The test fails if that takes more than `limit` seconds.

    The output goes to files, and the process has its own process group, because a child that it leaves behind would
    keep a pipe open and block the test. A variable that is None is not set.
    """
    command = [sys.executable, *map(str, arguments)]
    given = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1", **variables}
    environment = {name: value for name, value in given.items() if value is not None}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=errors, start_new_session=True
        )
        too_long = False
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            too_long = True
            process.send_signal(signal.SIGABRT)  # it says where it is
            time.sleep(1)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed = []
        for file in (output, errors):
            file.seek(0)
            printed.append(file.read())
    if too_long:
        pytest.fail(f"{command} had not ended after {limit} seconds.\n{printed[0][-2000:]}\n{printed[1][-8000:]}")
    return subprocess.CompletedProcess(command, process.returncode, *printed)
