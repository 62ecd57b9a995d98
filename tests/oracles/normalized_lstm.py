"""The normalised LSTM (S-LSTM paper, eq. 1) with explicit loops, in float64."""

from __future__ import annotations

import numpy as np


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def normalized_lstm(
    x: np.ndarray,
    mask: np.ndarray,
    W: np.ndarray,
    U: np.ndarray,
    b: np.ndarray,
    h0: np.ndarray,
    backwards: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The states at the positions of the words, 0 elsewhere, and the last h and c.

    W, U and b hold the gates i, f, u, o side by side.
    """
    batch, time, _ = x.shape
    d = len(h0)
    Wi, Wf, Wu, Wo = (W[:, k * d : (k + 1) * d] for k in range(4))
    Ui, Uf, Uu, Uo = (U[:, k * d : (k + 1) * d] for k in range(4))
    bi, bf, bu, bo = (b[k * d : (k + 1) * d] for k in range(4))
    states, last_h, last_c = np.zeros((batch, time, d)), np.zeros((batch, d)), np.zeros((batch, d))
    for row in range(batch):
        h, c = h0, np.zeros(d)
        words = [t for t in range(time) if mask[row, t]]
        for t in reversed(words) if backwards else words:
            i_hat = _sigmoid(x[row, t] @ Wi + h @ Ui + bi)
            f_hat = _sigmoid(x[row, t] @ Wf + h @ Uf + bf)
            u = np.tanh(x[row, t] @ Wu + h @ Uu + bu)
            o = _sigmoid(x[row, t] @ Wo + h @ Uo + bo)
            i = np.exp(i_hat) / (np.exp(i_hat) + np.exp(f_hat))
            f = np.exp(f_hat) / (np.exp(i_hat) + np.exp(f_hat))
            c = f * c + i * u
            h = o * np.tanh(c)
            states[row, t] = h
        if words:
            last_h[row], last_c[row] = h, c
    return states, last_h, last_c
