"""The minGRU with explicit loops, in float64."""

from __future__ import annotations

import numpy as np


def min_gru(
    x: np.ndarray, mask: np.ndarray, W: np.ndarray, b: np.ndarray, backwards: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The states of all words in their own places, and the last h; zeros where there is no word.

    W and b hold the gate z and the candidate side by side.
    """
    batch, time, _ = x.shape
    d = len(b) // 2
    states, last = np.zeros((batch, time, d)), np.zeros((batch, d))
    for row in range(batch):
        h = np.zeros(d)
        words = [t for t in range(time) if mask[row, t]]
        for t in reversed(words) if backwards else words:
            for unit in range(d):
                z = 1 / (1 + np.exp(-(x[row, t] @ W[:, unit] + b[unit])))
                candidate = x[row, t] @ W[:, d + unit] + b[d + unit]
                h[unit] = (1 - z) * h[unit] + z * candidate
            states[row, t] = h
        last[row] = h
    return states, last
