"""A process dies: the others end soon and say why, and the training goes on when all are started again."""

from __future__ import annotations

import signal
import sys
import time

import numpy as np
import pytest

from keras_slstm.distribute.launcher import Workers
from tests.backend import BACKEND

pytestmark = [
    pytest.mark.skipif(BACKEND != "tensorflow", reason="MultiWorkerMirroredStrategy is TensorFlow's"),
    pytest.mark.xdist_group("two_processes"),
]
LIMIT = 600.0  # seconds, for a busy machine
ENDS_WITHIN = 60.0


def _run(folder, who=-1, when="0"):
    command = [sys.executable, "-m", "tests.distribute.dying", str(folder), str(who), str(when)]
    environment = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}
    return Workers(command, 2, environment, logs=folder)


def _last_words(folder, index):
    return (folder / f"worker-{index}.log").read_text(errors="replace")


def _weights(path):
    with np.load(path) as file:
        return list(file.values())


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_one_of_two_is_killed(tmp_path, kills):
    expected = tmp_path / "whole"
    expected.mkdir()
    with _run(expected) as workers:
        assert workers.wait(LIMIT) == [0, 0], _last_words(expected, 0)
    folder = tmp_path / "cut"
    folder.mkdir()
    rng = np.random.default_rng(kills)
    for attempt in range(kills):
        who = attempt % 2
        with _run(folder, who, rng.uniform(0.0, 1.0)) as workers:
            workers.processes[who].wait(LIMIT)
            died = time.monotonic()
            workers.processes[1 - who].wait(ENDS_WITHIN)
            print(f"the other ended {time.monotonic() - died:.1f} s later")
        assert workers.processes[who].returncode == -signal.SIGKILL
        assert workers.processes[1 - who].returncode not in (0, -signal.SIGKILL)
        assert "WorkerLost" in _last_words(folder, 1 - who)
    with _run(folder) as workers:
        assert workers.wait(LIMIT) == [0, 0], _last_words(folder, 0)
    for index in (0, 1):
        for a, b in zip(_weights(folder / f"weights-{index}.npz"), _weights(expected / "weights-0.npz"), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


def test_one_of_two_hangs(tmp_path):
    """Its connections live on, so only its silence tells."""
    with _run(tmp_path, 1, "stop") as workers:
        assert workers.processes[0].wait(LIMIT) != 0
        assert workers.processes[1].poll() is None
    assert "WorkerLost" in _last_words(tmp_path, 0)
