"""Gradients by finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def central_differences(function: Callable[[np.ndarray], float], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The gradient of a scalar function at `x` (float64), two evaluations an element."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        above, below = x.copy(), x.copy()
        above[index] += step
        below[index] -= step
        gradient[index] = (function(above) - function(below)) / (2 * step)
    return gradient
