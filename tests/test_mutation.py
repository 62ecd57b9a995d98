"""The parts of `python -m tests.mutation`: forks with limits, and the choice of tests by line."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import fork_server, line_tests
from tests.backend import BACKEND

pytestmark = pytest.mark.skipif(
    BACKEND != "torch" or not hasattr(os, "fork"), reason="TensorFlow and JAX run threads, which a fork has not"
)


def _busy():
    while True:
        pass


def _waiting():
    time.sleep(60)
    return 0


@pytest.mark.parametrize(
    ("work", "expected"),
    [(lambda: 0, 0), (lambda: 1, 1), (_busy, fork_server.TOO_LONG), (_waiting, fork_server.HUNG)],
)
def test_a_fork_ends(tmp_path, work, expected):
    assert fork_server.run(tmp_path, work, cpu_seconds=0.0, wall_seconds=60.0 if work is _busy else 3.0) == expected


def test_a_fork_that_raises_or_dies_fails(tmp_path):
    for work in (lambda: 1 // 0, lambda: os.kill(os.getpid(), signal.SIGTERM)):
        assert fork_server.run(tmp_path, work, 10.0, 60.0) not in (0, fork_server.HUNG, fork_server.TOO_LONG)


def test_a_fork_works_in_its_folder_and_leaves_no_process(tmp_path):
    def work():
        other = subprocess.Popen(["sleep", "60"])
        Path("found.txt").write_text(f"{os.getcwd()} {os.environ['PYTHONPATH']} {other.pid}", encoding="utf-8")
        return 0

    assert fork_server.run(tmp_path, work, 10.0, 60.0) == 0
    where, path, other = (tmp_path / "found.txt").read_text(encoding="utf-8").split()
    assert where == path == str(tmp_path)
    end = time.monotonic() + 20
    while Path(f"/proc/{other}/cmdline").exists() and Path(f"/proc/{other}/cmdline").read_bytes():
        assert time.monotonic() < end
        time.sleep(0.05)


SOURCE = """\
LIMIT = 3

def double(x,
           by=2):
    if x:
        return by * x
    return LIMIT

class Unused:
    size = 1
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (6, ["fast"]),  # its own tests
        (5, ["fast", "slow"]),  # the condition, not what it guards
        (4, ["fast", "slow"]),  # a default runs at import: the tests of its function
        (1, ["fast", "slow"]),  # a constant: those of the module
        (10, ["fast", "slow"]),
    ],
)
def test_the_tests_of_a_line(line, expected):
    record = {
        "seconds": {"slow": 2.0, "fast": 1.0},
        "lines": {"package/module.py": {"5": ["slow", "fast"], "6": ["fast"], "7": ["slow"]}},
    }
    assert line_tests.tests_for(record, "package/module.py", SOURCE, line) == expected
    assert line_tests.tests_for(record, "package/other.py", SOURCE, line) == []
