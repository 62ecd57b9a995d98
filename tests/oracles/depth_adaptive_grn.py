"""The depth-adaptive GRN (Liu et al. 2020, eq. 5 to 14) one sentence, one word, one layer at a time, in float64.

Only eq. 2 and 3 come from another oracle, `tests/oracles/slstm.py`.
"""

from __future__ import annotations

import math

import numpy as np

from tests.oracles.slstm import update_node, update_word


def depth_adaptive_grn(weights, x, mask=None, *, units, max_depth, selection, sequential, depths=None, noise=None):
    """Returns `(h, g, c_g, depths)`: `(b, n, d)`, twice `(b, d)`, and `(b, n)`.

    `weights` maps the names of the layer's weights to arrays; the names in the two LSTMs begin with `forward/` and
    `backward/`. Given `depths` replace the layer's choice; `noise`, `(b, n, max_depth)`, is added to the logits.
    """
    x = np.asarray(x, "float64")
    mask = np.ones(x.shape[:2], bool) if mask is None else np.asarray(mask, bool)
    w = {name: np.asarray(value, "float64") for name, value in weights.items()}
    rows = []
    for b in range(len(x)):
        given = None if depths is None else depths[b]
        added = np.zeros((x.shape[1], max_depth)) if noise is None else noise[b]
        rows.append(_sentence(w, x[b], mask[b], units, max_depth, selection, sequential, given, added))
    return tuple(np.stack(part) for part in zip(*rows, strict=True))


def _sentence(w, x, mask, units, max_depth, selection, sequential, given, noise):
    n = len(x)
    h_out, chosen = np.zeros((n, units)), np.zeros(n, int)
    positions = [i for i in range(n) if mask[i]]
    if not positions:
        return h_out, np.zeros(units), np.zeros(units), chosen

    r = dict(zip(positions, features(w, [x[i] for i in positions], sequential), strict=True))
    h, read = {}, {}
    for i in positions:
        inner = np.maximum(0, r[i] @ w["inner_kernel"] + w["inner_bias"])
        logits = inner @ w["depth_kernel"] + w["depth_bias"]  # eq. 6
        chosen[i] = select(logits, selection, noise[i]) if given is None else given[i]
        embedding = [w["depth_kernel"][k, chosen[i] - 1] + code(chosen[i], k, len(inner)) for k in range(len(inner))]
        read[i] = np.concatenate([x[i], embedding])  # eq. 13
        h[i] = inner @ w["initial_kernel"] + w["initial_bias"]
    c = {i: np.zeros(units) for i in positions}
    g, c_g = [sum(h.values()) / len(positions)], [np.zeros(units)]

    for layer in range(1, max(chosen) + 1):  # eq. 14
        new = {}
        for i in positions:
            if layer > chosen[i]:
                new[i] = h[i], c[i]
            else:
                new[i] = update_word(w, read[i], i, h, c, g, c_g, units, 1, 1)
        node = update_node(w, 0, h, c, g, c_g, units, 1)
        h = {i: state[0] for i, state in new.items()}
        c = {i: state[1] for i, state in new.items()}
        g, c_g = [node[0]], [node[1]]

    for i in positions:
        h_out[i] = h[i]
    return h_out, g[0], c_g[0], chosen


def select(logits, selection, noise):
    """The depth, from 1 on: eq. 8, 9 (counted from 1) or 10 and 11."""
    max_depth = len(logits)
    if selection == "full":
        return max_depth
    if selection == "soft":
        p = probabilities(logits)
        expected = sum(j * p[j - 1] for j in range(1, max_depth + 1))
        return min(max(math.floor(expected), 1), max_depth)
    return 1 + int(np.argmax(logits + noise))


def probabilities(logits):
    """Eq. 7."""
    return np.exp(logits) / np.sum(np.exp(logits))


def code(number, k, size):
    """Dimension k of the sinusoidal code of a depth or a position: eq. 12."""
    angle = number / 10000 ** (2 * (k // 2) / size)
    return math.sin(angle) if k % 2 == 0 else math.cos(angle)


def features(w, x, sequential):
    """The vectors from which the depths are chosen, one for each word at `positions`."""
    if sequential == "bilstm":  # eq. 5
        before = _lstm(x, *(w[f"forward/{name}"] for name in ("kernel", "recurrent_kernel", "bias")))
        behind = _lstm(x[::-1], *(w[f"backward/{name}"] for name in ("kernel", "recurrent_kernel", "bias")))[::-1]
        return [np.concatenate(pair) for pair in zip(before, behind, strict=True)]
    if sequential == "sinusoidal":
        return [x[i] + [code(i, k, len(x[i])) for k in range(len(x[i]))] for i in range(len(x))]
    if sequential == "learned":
        table = w["position_embeddings"]
        return [x[i] + table[min(i, len(table) - 1)] for i in range(len(x))]
    return x


def _lstm(x, W, U, b):
    """The states of an LSTM after every word, gate order i, f, c, o."""
    h, c, states = np.zeros(len(U)), np.zeros(len(U)), []
    for x_t in x:
        i, f, u, o = np.split(x_t @ W + h @ U + b, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        c = f * c + i * np.tanh(u)
        h = o * np.tanh(c)
        states.append(h)
    return states
