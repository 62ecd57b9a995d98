"""The sentence-state LSTM: eq. 2 and 3 of Zhang, Liu and Song (ACL 2018).

A step updates all words i and all sentence nodes j in parallel, from the states of the previous step. A word has h_i
and c_i, a node has g^j and c_g^j; a word reads k neighbours on each side. The paper has one node and k = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import keras
from keras import ops

from keras_slstm.ops.backend.precision import accumulation_dtype, tanh
from keras_slstm.ops.backend.traceable import pad
from keras_slstm.ops.masks import masked_mean, zero_padding
from keras_slstm.types import Tensor


class SLSTMWeights(NamedTuple):
    """The weights, named as in `keras_slstm.layers.SLSTM`; without nodes, the last five are None."""

    kernel: Tensor
    recurrent_kernel: Tensor
    bias: Tensor
    sentence_kernel: Tensor = None
    sentence_gate_kernel: Tensor = None
    node_kernel: Tensor = None
    node_recurrent_kernel: Tensor = None
    node_bias: Tensor = None

    def window(self, units: int) -> int:
        """The window size, k."""
        return int(self.recurrent_kernel.shape[0] // units - 1) // 2

    def nodes(self, units: int) -> int:
        """The number of nodes, m."""
        return 0 if self.node_kernel is None else int(self.node_kernel.shape[1] // (3 * units))


class State(NamedTuple):
    """h and c of the words, `(batch, words, d)`; g and c_g of the nodes, `(batch, m, d)`, or None if m = 0."""

    h: Tensor
    c: Tensor
    g: Tensor
    c_g: Tensor


def slstm(
    weights: SLSTMWeights,
    x: Tensor,
    mask: Tensor | None,
    h0: Tensor,
    steps: int,
    h_dropout_mask: Tensor | None = None,
    g_dropout_mask: Tensor | None = None,
    return_words: bool = True,
    rematerialize: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run all steps.

    Args:
        weights: The weights.
        x: `(batch, words, e)`, boundary words included.
        mask: `(batch, words)` bool, True at words and boundary words, or None.
        h0: `(d,)`, the first h_i and g^j of all words and nodes; or `(batch, words, d)`, the first h_i, whose mean
            over the words is the first g^j.
        steps: Number of steps, at least 1.
        h_dropout_mask, g_dropout_mask: Multiply h and g before every product, in the same shapes, or None.
        return_words: Whether h is needed.
        rematerialize: Whether the gradient of the kernel recomputes one step at a time.

    Returns:
        h (None without `return_words`), g and c_g after the last step, zero at masked words.
    """
    state = initial_state(weights, x, mask, h0)
    for _ in range(steps):
        state = step(weights, x, mask, state, h_dropout_mask, g_dropout_mask)
    return (state.h if return_words else None), state.g, state.c_g


def initial_state(weights: SLSTMWeights, x: Tensor, mask: Tensor | None, h0: Tensor) -> State:
    """The state before the first step, from the arguments of `slstm`; cells are zero."""
    batch, words = ops.shape(x)[:2]
    d = h0.shape[-1]
    m = weights.nodes(d)
    c = ops.zeros((batch, words, d), dtype=h0.dtype)
    h = zero_padding(c + h0, mask)
    if not m:
        return State(h, c, None, None)
    c_g = ops.zeros((batch, m, d), dtype=h0.dtype)
    g = c_g + (h0 if len(h0.shape) == 1 else ops.expand_dims(masked_mean(h, mask), 1))
    return State(h, c, g, c_g)


def step(
    weights: SLSTMWeights,
    x: Tensor,
    mask: Tensor | None,
    state: State,
    h_dropout_mask: Tensor | None = None,
    g_dropout_mask: Tensor | None = None,
) -> State:
    """Take one step with all words and sentence nodes; the arguments are those of `slstm`."""
    h, c, g, c_g = state
    h = h if h_dropout_mask is None else h * h_dropout_mask
    g = g if g_dropout_mask is None else g * g_dropout_mask
    new_h, new_c = update_words(weights, x, h, c, g, c_g)
    new_h, new_c = zero_padding(new_h, mask), zero_padding(new_c, mask)
    if g is None:
        return State(new_h, new_c, None, None)
    nodes = [update_node(weights, j, h, c, g, c_g, mask) for j in range(weights.nodes(h.shape[-1]))]
    return State(new_h, new_c, *(ops.stack(part, axis=1) for part in zip(*nodes)))


def update_words(
    weights: SLSTMWeights, x: Tensor, h: Tensor, c: Tensor, g: Tensor, c_g: Tensor
) -> tuple[Tensor, Tensor]:
    """Eq. 2 for all words: the new h and c.

    The gates l_q and r_q belong to the neighbours at the offsets -q and q, and s^j to node j.
    """
    d = h.shape[-1]
    k, m = weights.window(d), weights.nodes(d)
    xi = ops.concatenate([shift(h, offset) for offset in range(-k, k + 1)], axis=-1)
    a = xi @ weights.recurrent_kernel + x @ weights.kernel + weights.bias
    if m:  # s^j reads node j, all other gates read all nodes
        V = weights.sentence_kernel
        V_s = ops.split(weights.sentence_gate_kernel, m, axis=-1)
        read = [ops.reshape(g, (-1, 1, m * d)) @ V, *(g[:, j : j + 1] @ V_s[j] for j in range(m))]
        a = a + ops.concatenate(read, axis=-1)
    i, *a = ops.split(a, 4 + 2 * k + m, axis=-1)
    l, r, (f, o, u), s = a[:k], a[k : 2 * k], a[2 * k : 2 * k + 3], a[2 * k + 3 :]  # noqa: E741

    offsets = range(1, k + 1)
    c_l, c_r = [shift(c, -q) for q in offsets], [shift(c, q) for q in offsets]
    c_s = [c_g[:, j : j + 1] for j in range(m)]
    # i, l, r, f, s = softmax over (sigmoid(i), sigmoid(l), sigmoid(r), sigmoid(f), sigmoid(s))
    # c_i' = i * tanh(u) + l * c_{i-1} + r * c_{i+1} + f * c_i + s * c_g
    c = gated_mean([i, *l, *r, f, *s], [tanh(u), *c_l, *c_r, c, *c_s])
    return ops.sigmoid(o) * tanh(c), c


def gated_mean(pre_activations: Sequence[Tensor], values: Sequence[Tensor]) -> Tensor:
    """The mean of values v_q, weighted by gates: `sum_q softmax_q(sigmoid(a_q)) * v_q`, for each unit.

    Args:
        pre_activations: a_1, ..., a_n, all of one shape.
        values: v_1, ..., v_n, of the same shape.
    """
    # Sigmoids are at most 1, so exp needs no maximum subtracted.
    weights = [ops.exp(ops.sigmoid(a)) for a in pre_activations]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def update_node(
    weights: SLSTMWeights, j: int, h: Tensor, c: Tensor, g: Tensor, c_g: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Eq. 3 for sentence node j, which treats every other node as one more word: the new g^j and c_g^j."""
    d = h.shape[-1]
    m = weights.nodes(d)
    own = slice(3 * d * j, 3 * d * (j + 1))
    W_g, W_f, W_o = ops.split(weights.node_recurrent_kernel[:, own], 3, axis=-1)
    U_g, U_f, U_o = ops.split(weights.node_kernel[:, own], 3, axis=-1)
    b_g, b_f, b_o = ops.split(weights.node_bias[own], 3)

    hbar = masked_mean(h, mask)
    f_g = ops.sigmoid(g[:, j] @ W_g + hbar @ U_g + b_g)
    o = ops.sigmoid(g[:, j] @ W_o + hbar @ U_o + b_o)
    others = [q for q in range(m) if q != j]
    h = ops.concatenate([h, *(g[:, q : q + 1] for q in others)], axis=1)
    c = ops.concatenate([c, *(c_g[:, q : q + 1] for q in others)], axis=1)
    f = ops.sigmoid(ops.expand_dims(g[:, j] @ W_f, 1) + h @ U_f + b_f)

    # f_g, f_1, f_2, ... = softmax over (f_g, f_1, f_2, ...); the sums over words run in at least float32
    dtype = keras.backend.standardize_dtype(f.dtype)
    f_g, f, c, c_j = (ops.cast(part, accumulation_dtype(dtype)) for part in (f_g, f, c, c_g[:, j]))
    f_g, f = ops.exp(f_g), ops.exp(f)
    f = zero_padding(f, None if mask is None else pad(mask, ((0, 0), (0, m - 1)), constant_values=True))
    c_j = (f_g * c_j + ops.sum(f * c, axis=1)) / (f_g + ops.sum(f, axis=1))
    c_j = ops.cast(c_j, dtype)
    return o * tanh(c_j), c_j


def shift(x: Tensor, offset: int) -> Tensor:
    """Put x_{i + offset} in the place of x_i in `x`, `(batch, words, d)`; zero beyond the ends."""
    k, n = abs(offset), ops.shape(x)[1]
    return pad(x, ((0, 0), (k, k), (0, 0)))[:, k + offset : k + offset + n]
