"""Luong's decoder with input feeding (2015, eq. 5, 7 and 8), one sentence, one word, one score at a time, in NumPy.

The cell is a CAS-LSTM (with one layer, it is an LSTM), run by `tests/oracles/cas_lstm.py` one word at a time.
"""

from __future__ import annotations

import numpy as np

from tests.oracles.cas_lstm import cas_lstm


def attention_decoder(
    cell_weights, W_a, W_c, x, m, mask=None, memory_mask=None, *, units, num_layers, states=None, **variant
):
    """h~ of all words, `(b, n, k)`, 0 at masked ones, and the attention weights, `(b, n, s)`.

    `cell_weights` maps the names of the cell's weights to arrays; `states` are its first [h1, c1, ...], `(b, d)` each.
    """
    x, m = np.asarray(x, "float64"), np.asarray(m, "float64")
    batch, n, _ = x.shape
    mask = np.ones((batch, n), bool) if mask is None else np.asarray(mask, bool)
    memory_mask = np.ones(m.shape[:2], bool) if memory_mask is None else np.asarray(memory_mask, bool)
    if states is None:
        states = [np.zeros((batch, units)) for _ in range(2 * num_layers)]
    outputs = np.zeros((batch, n, W_c.shape[1]))
    alignment = np.zeros((batch, n, m.shape[1]))
    for row in range(batch):
        fed = np.zeros(W_c.shape[1])
        state = [s[row : row + 1] for s in states]
        for t in range(n):
            if not mask[row, t]:
                continue
            word = np.concatenate([x[row, t], fed])[None, None]
            hs, state, _ = cas_lstm(cell_weights, word, units=units, num_layers=num_layers, states=state, **variant)
            h = hs[0, 0]
            positions = [s for s in range(m.shape[1]) if memory_mask[row, s]]
            scores = [h @ W_a @ m[row, s] for s in positions]
            total = sum(np.exp(score) for score in scores)
            context = np.zeros(m.shape[2])
            for s, score in zip(positions, scores):
                alignment[row, t, s] = np.exp(score) / total
                context += alignment[row, t, s] * m[row, s]
            fed = np.tanh(np.concatenate([context, h]) @ W_c)
            outputs[row, t] = fed
    return outputs, alignment
