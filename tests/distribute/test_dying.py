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

pytestmark = [
    pytest.mark.skipif(BACKEND != "tensorflow", reason="MultiWorkerMirroredStrategy is TensorFlow's"),
    pytest.mark.xdist_group("two_processes"),
]
ENDS_WITHIN = 60.0


def _run(folder, *how):
    return Workers([sys.executable, "-m", "tests.distribute.dying", str(folder), *how], 2, ONE_THREAD, logs=folder)


def _log_of(folder, index):
    return (folder / f"worker-{index}.log").read_text(errors="replace")


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
        assert "WorkerLost" in _log_of(tmp_path, 1 - who)

    with _run(tmp_path) as workers:
        assert workers.wait(LIMIT) == [0, 0], _log_of(tmp_path, 0)
    expected = _weights(tmp_path / "whole-0.npz")
    for index in (0, 1):
        for a, b in zip(_weights(tmp_path / f"cut-{index}.npz"), expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.slow
def test_one_of_two_hangs(tmp_path):
    """A stopped process keeps its connections, so only missing heartbeats show that it hangs."""
    with _run(tmp_path, "1", "3", "stop") as workers:
        assert workers.processes[0].wait(LIMIT) != 0
        assert workers.processes[1].poll() is None
    assert "WorkerLost" in _log_of(tmp_path, 0)
