"""Vectors of words from their characters with explicit loops, in float64."""

from __future__ import annotations

import numpy as np


def char_cnn(r: np.ndarray, mask: np.ndarray, W: np.ndarray, b: np.ndarray, width: int) -> np.ndarray:
    """max over the inside characters m of [r_{m-k}; ...; r_{m+k}] W + b, absent and masked characters being zero."""
    batch, time, characters, features = r.shape
    out = np.zeros((batch, time, len(b)))
    for row, word in np.ndindex(batch, time):
        values = []
        for m in range(characters):
            if not mask[row, word, m]:
                continue
            window = []
            for offset in range(width):
                at = m - (width - 1) // 2 + offset
                inside = 0 <= at < characters and mask[row, word, at]
                window.append(r[row, word, at] if inside else np.zeros(features))
            values.append(np.concatenate(window) @ W + b)
        if values:
            out[row, word] = np.max(values, axis=0)
    return out


def lstm(x: np.ndarray, W: np.ndarray, U: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The last state of an LSTM over `(n, features)`, gate order i, f, c, o; zeros if n is 0."""
    units = U.shape[0]
    h, c = np.zeros(units), np.zeros(units)
    for x_t in x:
        i, f, u, o = np.split(x_t @ W + h @ U + b, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        c = f * c + i * np.tanh(u)
        h = o * np.tanh(c)
    return h


def char_bilstm(r: np.ndarray, mask: np.ndarray, forward: list[np.ndarray], backward: list[np.ndarray]) -> np.ndarray:
    batch, time = r.shape[:2]
    out = np.zeros((batch, time, 2 * forward[1].shape[0]))
    for row, word in np.ndindex(batch, time):
        x = r[row, word][mask[row, word]]
        out[row, word] = np.concatenate([lstm(x, *forward), lstm(x[::-1], *backward)])
    return out
