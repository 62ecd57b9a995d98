"""Pooling over real words with explicit loops, in float64."""

from __future__ import annotations

import numpy as np


def max_pooling(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    batch, time, features = x.shape
    out = np.zeros((batch, features))
    for b in range(batch):
        for k in range(features):
            values = [x[b, t, k] for t in range(time) if mask[b, t]]
            out[b, k] = max(values) if values else 0.0
    return out


def average_pooling(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    batch, time, features = x.shape
    out = np.zeros((batch, features))
    for b in range(batch):
        for k in range(features):
            values = [x[b, t, k] for t in range(time) if mask[b, t]]
            out[b, k] = sum(values) / len(values) if values else 0.0
    return out


def attention_pooling(
    h: np.ndarray, mask: np.ndarray, W: np.ndarray, b: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """eps_t = tanh(h_t W + b); alpha = softmax of eps_t . u over real words; sum_t alpha_t h_t, and alpha."""
    batch, time, features = h.shape
    out, alpha = np.zeros((batch, features)), np.zeros((batch, time))
    for row in range(batch):
        words = [t for t in range(time) if mask[row, t]]
        score = {t: np.exp(np.dot(np.tanh(h[row, t] @ W + b), u)) for t in words}
        for t in words:
            alpha[row, t] = score[t] / sum(score.values())
            out[row] += alpha[row, t] * h[row, t]
    return out, alpha
