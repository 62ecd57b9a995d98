"""Runs programs in two processes, for tests that compare them with one process."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_slstm.distribute.launcher import Workers

LIMIT = 600.0  # seconds, for a busy machine
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}


def run(names: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Run some of `programs` in two processes, and return the results of each."""
    command = [sys.executable, "-m", "tests.distribute.programs", str(folder), *names]
    with Workers(command, 2, ONE_THREAD, logs=folder) as workers:
        statuses = workers.wait(LIMIT)
    if any(statuses):
        pytest.fail("\n".join(path.read_text(errors="replace")[-4000:] for path in sorted(folder.glob("*.log"))))
    return [dict(np.load(folder / f"found-{index}.npz")) for index in (0, 1)]


def of(program: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays of one program."""
    return {name: array for name, array in arrays.items() if name.startswith(f"{program}/")}


def assert_both_the_same(found: list[dict[str, Any]], program: str) -> None:
    """Assert that both processes have bit-identical results."""
    first, second = (of(program, arrays) for arrays in found)
    assert first
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def assert_differences_are_refused(found: list[dict[str, Any]]) -> None:
    """Assert that every process names the difference and its value in each process."""
    for arrays in found:
        assert "Processes have different data" in str(arrays["refused/data"])
        assert re.search(r"initial \S*learning_rate .*0\.1.* 1\.1", str(arrays["refused/rate"]))
        assert "argument.epochs is 1 on process 0 (localhost:" in str(arrays["refused/epochs"])
        assert "embeddings (30, 6) float32' on process 0" in str(arrays["refused/units"])
        assert "embeddings (30, 7) float32' on process 1" in str(arrays["refused/units"])
