"""What each of two processes finds, for the tests that compare it with one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_slstm.distribute.launcher import Workers

LIMIT = 600.0  # seconds, for a busy machine
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}


def run(program: str, folder: Path) -> list[dict[str, Any]]:
    """Run one of `programs` in two processes; what each of them has found."""
    command = [sys.executable, "-m", "tests.distribute.programs", program, str(folder)]
    with Workers(command, 2, ONE_THREAD, logs=folder) as workers:
        statuses = workers.wait(LIMIT)
    if any(statuses):
        pytest.fail("\n".join(path.read_text(errors="replace")[-4000:] for path in sorted(folder.glob("*.log"))))
    return [dict(np.load(folder / f"found-{index}.npz")) for index in (0, 1)]


def of(program: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """The arrays of one program."""
    return {name: array for name, array in arrays.items() if name.startswith(f"{program}/")}


def assert_both_the_same(found: list[dict[str, Any]], program: str) -> None:
    """What one process has found, the other has found, to the last bit."""
    first, second = (of(program, arrays) for arrays in found)
    assert first
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
