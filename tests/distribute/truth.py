"""Results of one process, computed once for all tests that compare with them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.distribute import programs


@functools.cache
def truth(program: str) -> dict[str, Any]:
    """Run a program of `programs` in this process."""
    return getattr(programs, program)()


# Eight steps at a rate of 0.1, with gradients of at most 1, rounded to the 11 bits of float16.
TOLERANCES = {"xla": 1e-5, "several": 1e-5, "half": 8 * 0.1 * 2**-11}


def compare(found: dict[str, Any], expected: dict[str, Any], prefix: str, **tolerance: float) -> None:
    """Compare all arrays whose name starts with the prefix."""
    names = {name for name in expected if name.startswith(f"{prefix}/")}
    assert names
    assert names == {name for name in found if name.startswith(f"{prefix}/")}
    for name in sorted(names):
        np.testing.assert_allclose(found[name], expected[name], err_msg=name, **tolerance)
