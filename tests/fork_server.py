"""Runs pytest in forks of this process, which has imported the slow libraries once.

Each fork imports the package under test and its tests afresh, from the folder that it is given.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

OWN = ("keras_slstm", "tests", "examples", "benchmarks", "tuning")
MEMORY = 8 << 30  # a mutant that doubles a size in a loop must not exhaust the machine
HUNG, TOO_LONG = "hung", "too long"


def import_libraries() -> None:
    """Import the libraries of all tests, with one thread each, because a fork keeps only one thread."""
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in ("numpy", "keras", "tensorflow", "pytest"):  # Keras always imports TensorFlow, to set its seed
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    loaded = [name for name in sys.modules if name.partition(".")[0] == "keras_slstm"]
    assert not loaded, f"already imported: {loaded}"


def run(folder: Path, work: Callable[[], int], cpu_seconds: float, wall_seconds: float) -> int | str:
    """Run a function in a fork.

    The main limit is CPU time, which does not depend on the load of the machine. The limit in wall time ends forks that
    wait for ever.

    Args:
        folder: Becomes the working directory and the first place that imports look at.
        work: Returns the exit status.
        cpu_seconds: The fork is killed when it has used more.
        wall_seconds: The fork is killed when it has taken longer.

    Returns:
        The exit status, negative for a signal, or `TOO_LONG` or `HUNG`.
    """
    temporary = tempfile.mkdtemp()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = 70
        with contextlib.suppress(BaseException):
            _prepare(folder, temporary, cpu_seconds)
            status = int(work())
        os._exit(status)
    try:
        return _wait(child, cpu_seconds, wall_seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # processes that the tests have left behind
        shutil.rmtree(temporary, ignore_errors=True)


def _prepare(folder: Path, temporary: str, cpu_seconds: float) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.chdir(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]
    sys.path[:] = [str(folder), *(path for path in sys.path if path not in ("", str(Path(__file__).parents[1])))]
    os.environ |= {"PYTHONPATH": str(folder), "TMPDIR": temporary, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    tempfile.tempdir = temporary


def _wait(child: int, cpu_seconds: float, wall_seconds: float) -> int | str:
    end = time.monotonic() + wall_seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return TOO_LONG if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG
