"""CAS-LSTM (Choi et al. 2019, eq. 1-13, 17 and 18) one sentence, one word, one layer, one gate at a time, in NumPy
float64.

It is slow and obvious on purpose, and shares nothing with the layer but the names of the weights.
"""

from __future__ import annotations

import numpy as np


def sigmoid(a):
    return 1.0 / (1.0 + np.exp(-a))


def cas_lstm(weights, x, mask=None, *, units, num_layers, lam=0.5, peephole=False, backwards=False, states=None):
    """Returns `(hs, states, gates)`.

    `hs` are the states h of the highest layer, `(b, n, d)`, at the positions of the words, 0 elsewhere;
    `states` the last [h1, c1, h2, c2, ...], `(b, d)` each; `gates` maps `("g", l)` and `("o", l)` to the gates of
    layer l, `(b, n, d)`, likewise. `weights` maps the names of the cell's weights to arrays.
    """
    x = np.asarray(x, "float64")
    batch, n, _ = x.shape
    mask = np.ones((batch, n), bool) if mask is None else np.asarray(mask, bool)
    w = {name: np.asarray(value, "float64") for name, value in weights.items()}
    if states is None:
        states = [np.zeros((batch, units)) for _ in range(2 * num_layers)]
    last = [np.array(state, "float64") for state in states]
    hs = np.zeros((batch, n, units))
    gates = {(gate, layer): np.zeros((batch, n, units)) for gate in "go" for layer in range(1, num_layers + 1)}
    for row in range(batch):
        h = {layer: last[2 * layer - 2][row] for layer in range(1, num_layers + 1)}
        c = {layer: last[2 * layer - 1][row] for layer in range(1, num_layers + 1)}
        words = [t for t in range(n) if mask[row, t]]
        for t in reversed(words) if backwards else words:
            below = x[row, t]
            for layer in range(1, num_layers + 1):
                lower_cell = c.get(layer - 1)  # of this word
                h[layer], c[layer], o, g = _layer(w, layer, below, h[layer], c[layer], lower_cell, units, lam, peephole)
                below = h[layer]
                gates["o", layer][row, t] = o
                gates["g", layer][row, t] = g
            hs[row, t] = below
        for layer in h:
            last[2 * layer - 2][row] = h[layer]
            last[2 * layer - 1][row] = c[layer]
    return hs, last, gates


def _layer(w, layer, below, h, c, lower_cell, d, lam, peephole):
    """One word in one layer: the new h and c, and the gates o and g (0 in layer 1)."""
    W, U, b = w[f"kernel_{layer}"], w[f"recurrent_kernel_{layer}"], w[f"bias_{layer}"]
    a = {}
    for index, name in enumerate(("i", "f", "c~", "o")):
        columns = slice(index * d, (index + 1) * d)
        a[name] = below @ W[:, columns] + h @ U[:, columns] + b[columns]
    i, f, o = sigmoid(a["i"]), sigmoid(a["f"]), sigmoid(a["o"])
    if layer == 1:
        cell = i * np.tanh(a["c~"]) + f * c
        return o * np.tanh(cell), cell, o, np.zeros(d)

    columns = slice(4 * d, 5 * d)
    if peephole:
        p1, p2 = w[f"peephole_{layer}"]
        g = sigmoid(below @ W[:, columns] + p1 * c + p2 * lower_cell + b[columns])
        cell = i * np.tanh(a["c~"]) + f * c + g * lower_cell
        return o * np.tanh(cell), cell, o, g

    g = sigmoid(below @ W[:, columns] + h @ U[:, columns] + b[columns])
    if lam is None:
        cell = i * np.tanh(a["c~"]) + f * c + g * lower_cell
    else:
        share = sigmoid(w[f"lam_{layer}"]) if lam == "trainable" else lam
        cell = i * np.tanh(a["c~"]) + (1.0 - share) * f * c + share * g * lower_cell
    return o * np.tanh(cell), cell, o, g
