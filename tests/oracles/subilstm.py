"""SuBiLSTM (Brahma 2018, eq. 1-8) in NumPy float64: encodes every prefix and every suffix of every sentence separately,
one word and one gate at a time.

It is slow and obvious on purpose, and shares nothing with the layer but the names of the weights.
"""

from __future__ import annotations

import numpy as np


def sigmoid(a):
    return 1.0 / (1.0 + np.exp(-a))


def subilstm(weights, x, mask=None, *, units, tied=True, combine="max", cell="lstm", max_context=None):
    """Returns `(H, sentence)`: H of eq. 5, `(b, n, 2d or 4d)`, 0 where there is no word, and eq. 8, `(b, 2d or 4d)`.

    `weights` maps the names of the layer's weights to arrays. `max_context` is a number of words or None.
    """
    x = np.asarray(x, "float64")
    batch, n, _ = x.shape
    mask = np.ones((batch, n), bool) if mask is None else np.asarray(mask, bool)
    w = {name: np.asarray(value, "float64") for name, value in weights.items()}
    encode = {"lstm": lstm, "gru": gru}[cell]

    def encoding(direction, part, words):
        """The last state of the LSTM of that direction and part after these words."""
        name = direction if tied else f"{direction}_{part}"
        return encode(w[f"{name}_kernel"], w[f"{name}_recurrent_kernel"], w[f"{name}_bias"], words, units)

    H = np.zeros((batch, n, 4 * units if combine == "concat" else 2 * units))
    sentence = np.zeros((batch, H.shape[-1]))
    for row in range(batch):
        places = [t for t in range(n) if mask[row, t]]
        s = [x[row, t] for t in places]
        for i, place in enumerate(places):
            reach = len(s) if max_context is None else max_context
            before, after = s[: i + 1], s[i:]
            near_before, near_after = s[max(0, i - reach) : i + 1], s[i : i + reach + 1]
            p_forward = encoding("forward", "prefix", before)  # eq. 1
            s_forward = encoding("forward", "suffix", near_after)  # eq. 2
            p_backward = encoding("backward", "prefix", near_before[::-1])  # eq. 3
            s_backward = encoding("backward", "suffix", after[::-1])  # eq. 4
            H[row, place] = np.concatenate(
                [
                    _combine(w, "forward", combine, p_forward, s_forward),
                    _combine(w, "backward", combine, p_backward, s_backward),
                ]
            )
        if places:
            sentence[row] = np.max([H[row, place] for place in places], axis=0)
    return H, sentence


def _combine(w, direction, combine, p, s):
    if combine == "max":
        return np.maximum(p, s)
    if combine == "mean":
        return (p + s) / 2.0
    if combine == "concat":
        return np.concatenate([p, s])
    K, b = w[f"{direction}_combine_kernel"], w[f"{direction}_combine_bias"]
    z = sigmoid(np.concatenate([p, s]) @ K + b)
    return z * p + (1.0 - z) * s


def lstm(W, U, b, words, d):
    """The last h after these words."""
    h, c = np.zeros(d), np.zeros(d)
    for x in words:
        a = {}
        for index, gate in enumerate(("i", "f", "c~", "o")):
            columns = slice(index * d, (index + 1) * d)
            a[gate] = x @ W[:, columns] + h @ U[:, columns] + b[columns]
        c = sigmoid(a["i"]) * np.tanh(a["c~"]) + sigmoid(a["f"]) * c
        h = sigmoid(a["o"]) * np.tanh(c)
    return h


def gru(W, U, b, words, d):
    """The last h of a GRU after these words."""
    h = np.zeros(d)
    for x in words:
        of_x, of_h = {}, {}
        for index, gate in enumerate(("z", "r", "h~")):
            columns = slice(index * d, (index + 1) * d)
            of_x[gate] = x @ W[:, columns] + b[0, columns]
            of_h[gate] = h @ U[:, columns] + b[1, columns]
        z, r = sigmoid(of_x["z"] + of_h["z"]), sigmoid(of_x["r"] + of_h["r"])
        h = z * h + (1.0 - z) * np.tanh(of_x["h~"] + r * of_h["h~"])
    return h
