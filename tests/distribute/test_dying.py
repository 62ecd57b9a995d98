"""If a process dies, the others soon end with WorkerLost, and a restart resumes the training."""

from __future__ import annotations

import signal
import sys
import time

import numpy as np
import pytest

from keras_slstm.distribute.launcher import Workers
from tests.backend import BACKEND
from tests.distribute.two_processes import LIMIT, ONE_THREAD

pytestmark = pytest.mark.xdist_group("two_processes")
ENDS_WITHIN = 60.0
TIMEOUT = 90.0  # seconds that processes wait for one that hangs
# On JAX, dropout masks are those of one process.
SHARED_DROPOUT = 0.3 if BACKEND == "jax" else 0.0


def _run(folder, *how, count=2, dropout=0.3, timeout=LIMIT):
    command = [sys.executable, "-m", "tests.distribute.dying", str(folder), str(dropout), *how]
    return Workers(command, count, {**ONE_THREAD, "TIMEOUT": str(timeout)}, logs=folder)


def _log_of(folder, index):
    return (folder / f"worker-{index}.log").read_text(errors="replace")


def _assert_says_why_it_ended(log):
    """JAX may end the process before Python sees the error."""
    assert "WorkerLost" in log or "JAX distributed service detected fatal errors" in log, log[-4000:]


def _weights(path):
    with np.load(path) as file:
        return list(file.values())


@pytest.mark.parametrize(
    "kills", [pytest.param(2, marks=pytest.mark.ci_run()), pytest.param(10, marks=pytest.mark.slow)]
)
def test_one_of_two_dies(tmp_path, kills):
    rng = np.random.default_rng(kills)
    for attempt in range(kills):
        who = attempt % 2
        # Less than half of the training's 96 steps in total, and not only between two steps.
        steps, seconds = rng.integers(1, 5), rng.uniform(0.0, 0.05)
        with _run(tmp_path, str(who), str(steps), str(seconds)) as workers:
            workers.processes[who].wait(LIMIT)
            died = time.monotonic()
            workers.processes[1 - who].wait(ENDS_WITHIN)
            print(f"the other ended {time.monotonic() - died:.1f} s later")
        assert workers.processes[who].returncode == -signal.SIGKILL
        assert workers.processes[1 - who].returncode not in (0, -signal.SIGKILL)
        _assert_says_why_it_ended(_log_of(tmp_path, 1 - who))

    _assert_the_rest_makes_the_same(tmp_path, 2, dropout=0.3)


def _assert_the_rest_makes_the_same(folder, count, dropout):
    """End the training, and compare it with one that was never interrupted."""
    with _run(folder, count=count, dropout=dropout) as workers:
        assert workers.wait(LIMIT) == [0] * count, _log_of(folder, 0)
    expected = _weights(folder / "whole-0.npz")
    for index in range(count):
        for a, b in zip(_weights(folder / f"cut-{index}.npz"), expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.short_run
@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("counts", [(2, 1), (1, 2)])
def test_another_number_of_processes_goes_on(tmp_path, counts):
    """The batches are the same, so the training is, too."""
    for count in counts:
        with _run(tmp_path, "0", "11", "0", count=count, dropout=SHARED_DROPOUT) as workers:
            assert workers.wait(LIMIT, grace=ENDS_WITHIN)[0] == -signal.SIGKILL
    assert list((tmp_path / "cut").glob("epoch-0002-step-000004.weights.h5"))
    _assert_the_rest_makes_the_same(tmp_path, counts[0], SHARED_DROPOUT)


@pytest.mark.slow
def test_one_of_two_sleeps(tmp_path):
    """The others give up on a process that answers but makes no progress, after the timeout of `strategy`."""
    with _run(tmp_path, "1", "3", "sleep", timeout=TIMEOUT) as workers:
        while not list((tmp_path / "cut").glob("*-step-000002*")):
            assert workers.processes[0].poll() is None
            time.sleep(0.1)
        began = time.monotonic()
        assert workers.processes[0].wait(LIMIT) != 0
        assert workers.processes[1].poll() is None
    _assert_says_why_it_ended(_log_of(tmp_path, 0))
    assert time.monotonic() - began < TIMEOUT + 15.0


@pytest.mark.slow
def test_one_of_two_hangs(tmp_path):
    """A stopped process keeps its connections, so only missing heartbeats show that it hangs."""
    with _run(tmp_path, "1", "3", "stop", timeout=TIMEOUT) as workers:
        assert workers.processes[0].wait(LIMIT) != 0
        assert workers.processes[1].poll() is None
    _assert_says_why_it_ended(_log_of(tmp_path, 0))
