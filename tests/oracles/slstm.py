"""S-LSTM (Zhang et al. 2018, eq. 2 and 3) one sentence, one word, one gate at a time, in NumPy float64.

It is slow and obvious on purpose, and shares nothing with the layer but the names of the weights.
"""

from __future__ import annotations

import numpy as np


def sigmoid(a):
    return 1.0 / (1.0 + np.exp(-a))


def slstm(weights, x, mask=None, *, units, steps, window=1, sentence_nodes=1, boundary_words=True, initial="learned"):
    """Returns `(h, g, c_g)`: `(b, n, d)`, and `(b, d)` each for node 1.

    `weights` maps the names of the layer's weights to arrays. Without sentence nodes, `g` is the mean of h
    over the words and `c_g` is zero.
    """
    x = np.asarray(x, "float64")
    mask = np.ones(x.shape[:2], bool) if mask is None else np.asarray(mask, bool)
    w = {name: np.asarray(value, "float64") for name, value in weights.items()}
    outputs = [
        _sentence(w, row, row_mask, units, steps, window, sentence_nodes, boundary_words, initial)
        for row, row_mask in zip(x, mask, strict=True)
    ]
    return tuple(np.stack(part) for part in zip(*outputs, strict=True))


def _sentence(w, x, mask, d, steps, k, m, boundary_words, initial):
    n = len(x)
    if not mask.any():
        return np.zeros((n, d)), np.zeros(d), np.zeros(d)

    # Dictionaries map the positions of words to vectors; masked positions are missing.
    words = {i: x[i] for i in range(n) if mask[i]}
    positions = sorted(words)
    if boundary_words:
        words[positions[0] - 1] = w["boundary_embeddings"][0]
        words[positions[-1] + 1] = w["boundary_embeddings"][1]

    if initial == "learned":
        h = dict.fromkeys(words, w["initial_state"])
        g = [w["initial_state"] for _ in range(m)]
    elif initial == "zeros":
        h = {i: np.zeros(d) for i in words}
        g = [np.zeros(d) for _ in range(m)]
    else:
        h = {i: words[i] @ w["initial_kernel"] + w["initial_bias"] for i in words}
        g = [sum(h.values()) / len(h) for _ in range(m)]
    c = {i: np.zeros(d) for i in words}
    c_g = [np.zeros(d) for _ in range(m)]

    for _ in range(steps):
        new_words = {i: update_word(w, words[i], i, h, c, g, c_g, d, k, m) for i in words}
        new_nodes = [update_node(w, j, h, c, g, c_g, d, m) for j in range(m)]
        h = {i: state[0] for i, state in new_words.items()}
        c = {i: state[1] for i, state in new_words.items()}
        g = [state[0] for state in new_nodes]
        c_g = [state[1] for state in new_nodes]

    outputs = np.zeros((n, d))
    for i in positions:
        outputs[i] = h[i]
    if m == 0:
        return outputs, sum(h[i] for i in positions) / len(positions), np.zeros(d)
    return outputs, g[0], c_g[0]


def update_word(w, x, i, h, c, g, c_g, d, k, m):
    """Eq. 2 for word i."""
    absent = np.zeros(d)
    names = ["i"] + [f"l{q}" for q in range(1, k + 1)] + [f"r{q}" for q in range(1, k + 1)] + ["f", "o", "u"]
    names += [f"s{j}" for j in range(m)]
    xi = np.concatenate([h.get(i + offset, absent) for offset in range(-k, k + 1)])

    a = {}
    for index, name in enumerate(names):
        columns = slice(index * d, (index + 1) * d)
        a[name] = xi @ w["recurrent_kernel"][:, columns] + x @ w["kernel"][:, columns] + w["bias"][columns]
        if name.startswith("s"):
            j = int(name[1:])
            a[name] = a[name] + g[j] @ w["sentence_gate_kernel"][:, j * d : (j + 1) * d]
        elif m:
            a[name] = a[name] + np.concatenate(g) @ w["sentence_kernel"][:, columns]

    cells = {"i": np.tanh(a["u"]), "f": c[i]}
    for q in range(1, k + 1):
        cells[f"l{q}"] = c.get(i - q, absent)
        cells[f"r{q}"] = c.get(i + q, absent)
    for j in range(m):
        cells[f"s{j}"] = c_g[j]
    gates = {name: np.exp(sigmoid(a[name])) for name in cells}
    total = sum(gates.values())
    cell = sum(gates[name] / total * cells[name] for name in cells)
    return sigmoid(a["o"]) * np.tanh(cell), cell


def update_node(w, j, h, c, g, c_g, d, m):
    """Eq. 3 for sentence node j; every other node is one more word of its sums."""
    first = 3 * d * j
    w_g, w_f, w_o = (w["node_recurrent_kernel"][:, first + q * d : first + (q + 1) * d] for q in range(3))
    u_g, u_f, u_o = (w["node_kernel"][:, first + q * d : first + (q + 1) * d] for q in range(3))
    b_g, b_f, b_o = (w["node_bias"][first + q * d : first + (q + 1) * d] for q in range(3))

    mean = sum(h.values()) / len(h)
    f_g = np.exp(sigmoid(g[j] @ w_g + mean @ u_g + b_g))
    o = sigmoid(g[j] @ w_o + mean @ u_o + b_o)
    read = [(h[i], c[i]) for i in h] + [(g[q], c_g[q]) for q in range(m) if q != j]
    f = [np.exp(sigmoid(g[j] @ w_f + state @ u_f + b_f)) for state, _ in read]
    total = f_g + sum(f)
    cell = f_g / total * c_g[j] + sum(gate / total * cell for gate, (_, cell) in zip(f, read, strict=True))
    return o * np.tanh(cell), cell
