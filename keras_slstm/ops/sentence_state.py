"""The sentence-state transition: eq. 2 and 3 of Zhang, Liu and Song (ACL 2018), as pure functions.

A state holds h and c of the words, `(batch, words, d)`, and g and c_g of the sentence nodes, `(batch, nodes, d)`.
Absent words (padding) have h = c = 0 before and after every step. `transition` updates all words; `word_update` and
`node_update`, of which it consists, serve layers that update some words only. `first_transition` and `last_transition`
leave out products of which nothing is used.
"""

from __future__ import annotations

from typing import NamedTuple

import keras
from keras import ops

from keras_slstm.ops.kernels.gated_mean import gated_mean
from keras_slstm.ops.kernels.tensorflow_ops import part
from keras_slstm.ops.precision import accumulation_dtype, tanh
from keras_slstm.ops.projection import project
from keras_slstm.types import Tensor


class State(NamedTuple):
    """Hidden vectors and cells of the words and of the sentence nodes (None without nodes)."""

    h: Tensor
    c: Tensor
    g: Tensor | None
    c_g: Tensor | None


class Words(NamedTuple):
    """Which words there are: what stays the same over the steps.

    Attributes:
        projected: `(batch, words, G d)`, x U + b of eq. 2.
        present: `(batch, words, 1)`, 1 at words and 0 elsewhere, or None where all are present.
        count: The number of present words, at least 1: `(batch, 1)`, or one number where all are present.
    """

    projected: Tensor
    present: Tensor | None
    count: Tensor


def make_words(projected: Tensor, mask: Tensor | None) -> Words:
    """`Words` from x U + b, `(batch, words, G d)`, and a mask `(batch, words)`, or None."""
    if mask is None:
        return Words(projected, None, ops.shape(projected)[1])
    count = ops.sum(ops.cast(mask, "int32"), axis=1)[:, None]
    return Words(projected, ops.cast(mask, projected.dtype)[..., None], ops.maximum(count, 1))


class TransitionWeights(NamedTuple):
    """The weights of the transition, arranged for one product each.

    With d units, window k, m sentence nodes and G = 4 + 2k + m gates a word; everything but `words` is None where
    m = 0.

    Attributes:
        words: `((2k+1) d, G d)`, W of eq. 2.
        sentence: `(m d, G d)`, V of eq. 2; zero where a gate s^j does not read node q.
        node_words: `(d, m d)`, U_f of eq. 3, node after node.
        node_mean: `(d, 2 m d)`, U_g of all nodes, then U_o of all nodes.
        node_self: `(m d, 3 m d)`, W_g, W_f and W_o likewise; zero between different nodes.
        node_bias: `(3 m d,)`, b_g, b_f and b_o likewise.
    """

    words: Tensor
    sentence: Tensor | None = None
    node_words: Tensor | None = None
    node_mean: Tensor | None = None
    node_self: Tensor | None = None
    node_bias: Tensor | None = None


def arrange_node_weights(
    sentence_kernel: Tensor,
    sentence_gate_kernel: Tensor,
    node_kernel: Tensor,
    node_recurrent_kernel: Tensor,
    node_bias: Tensor,
) -> dict[str, Tensor]:
    """The fields of `TransitionWeights` beside `words`, from the weights as `SLSTM` stores them, node by node."""
    d = node_kernel.shape[0]
    m = node_kernel.shape[1] // (3 * d)

    def gate_by_gate(kernel: Tensor) -> list[Tensor]:
        kernel = ops.reshape(kernel, (-1, m, 3, d))
        return [ops.reshape(kernel[:, :, gate], (-1, m * d)) for gate in range(3)]

    u_g, u_f, u_o = gate_by_gate(node_kernel)
    own = [_block_diagonal(w, m) for w in gate_by_gate(node_recurrent_kernel)]
    return {
        "sentence": ops.concatenate([sentence_kernel, _block_diagonal(sentence_gate_kernel, m)], axis=1),
        "node_words": u_f,
        "node_mean": ops.concatenate([u_g, u_o], axis=1),
        "node_self": ops.concatenate(own, axis=1),
        "node_bias": ops.concatenate(gate_by_gate(node_bias), axis=1)[0],
    }


def _block_diagonal(blocks: Tensor, count: int) -> Tensor:
    """`count` square blocks side by side, `(d, count d)`, put on the diagonal of a `(count d, count d)` matrix."""
    d = blocks.shape[0]
    if count == 1:
        return blocks
    diagonal = ops.reshape(ops.eye(count, dtype=blocks.dtype), (count, 1, count, 1))
    return ops.reshape(diagonal * ops.reshape(blocks, (1, d, count, d)), (count * d, count * d))


def neighbours(x: Tensor, window: int) -> list[Tensor]:
    """`[x_{i-k}, ..., x_i, ..., x_{i+k}]` of `x`, `(batch, words, d)`, each of its shape; zero outside."""
    n = ops.shape(x)[1]
    padded = ops.pad(x, ((0, 0), (window, window), (0, 0)))
    return [x if j == window else part(padded, j, n, axis=1) for j in range(2 * window + 1)]


def transition(
    weights: TransitionWeights,
    state: State,
    words: Words,
    h_noise: Tensor | None = None,
    g_noise: Tensor | None = None,
) -> State:
    """One step of all words and sentence nodes, simultaneously, from the state before it.

    Args:
        weights: The weights.
        state: The state of step t-1.
        words: The projected words, and which of them are present.
        h_noise, g_noise: Factors of recurrent dropout for h and g where they enter products, or None.

    Returns:
        The state of step t.
    """
    h, c, g, c_g = state
    h_read = h if h_noise is None else h * h_noise
    window = (weights.words.shape[0] // h.shape[-1] - 1) // 2

    xi = ops.concatenate(neighbours(h_read, window), axis=-1)
    a = project(xi, weights.words) + words.projected
    node_cells: list[Tensor] = []
    if g is not None and c_g is not None:
        m, d = g.shape[1:]
        g_read = g if g_noise is None else g * g_noise
        a = a + (ops.reshape(g_read, (-1, m * d)) @ weights.sentence)[:, None]
        node_cells = [ops.broadcast_to(c_g[:, j : j + 1], ops.shape(c)) for j in range(m)]
        g, c_g = node_update(weights, h_read, c, g_read, c_g, words)
    cells = neighbours(c, window)
    h, c = word_update(a, [*cells[:window][::-1], *cells[window + 1 :]], c, node_cells)
    return State(*_present_only(h, c, words), g, c_g)


def first_transition(weights: TransitionWeights, initial: Tensor, words: Words, nodes: int) -> State:
    """The first step where all words and nodes begin with the same h (and g), `(d,)`, and with cells of zero.

    What the words read of each other are then as many vectors as a window has words, and the nodes stay at zero,
    since they hold a mean of the cells.
    """
    d = initial.shape[-1]
    window = (weights.words.shape[0] // d - 1) // 2
    read = initial[None] @ ops.reshape(weights.words, (2 * window + 1, d, -1))  # (2k+1, 1, G d)
    present = ops.ones_like(words.projected[:, :, :1]) if words.present is None else words.present
    a = project(ops.concatenate(neighbours(present, window), axis=-1), read[:, 0]) + words.projected
    zero = ops.zeros_like(words.projected[:, :, :d])
    g = None
    if weights.sentence is not None:
        a = a + ops.tile(initial[None], (1, nodes)) @ weights.sentence
        g = ops.zeros((ops.shape(zero)[0], nodes, d), dtype=zero.dtype)
    h, c = word_update(a, [zero] * (2 * window), zero, [zero] * nodes)
    return State(*_present_only(h, c, words), g, g)


def last_transition(
    weights: TransitionWeights,
    state: State,
    words: Words,
    h_noise: Tensor | None = None,
    g_noise: Tensor | None = None,
) -> State:
    """The last step where only the sentence nodes are of use, which read the words of the step before."""
    h, c, g, c_g = state
    h_read = h if h_noise is None else h * h_noise
    g_read = g if g_noise is None else g * g_noise
    return State(h, c, *node_update(weights, h_read, c, g_read, c_g, words))


def _present_only(h: Tensor, c: Tensor, words: Words) -> tuple[Tensor, Tensor]:
    return (h, c) if words.present is None else (h * words.present, c * words.present)


def word_update(a: Tensor, neighbour_cells: list[Tensor], cell: Tensor, node_cells: list[Tensor]):
    """Eq. 2 from the pre-activations on, for any set of words.

    Args:
        a: `(..., G d)`, pre-activations in the gate order i, l1..lk, r1..rk, f, o, u, s1..sm.
        neighbour_cells: Cells at the offsets -1..-k, then 1..k (the order of the gates), each `(..., d)`.
        cell: The words' own cells, `(..., d)`.
        node_cells: The cells of the m sentence nodes, each `(..., d)`.

    Returns:
        `(h, c)`, the new hidden vectors and cells.
    """
    sides, nodes = len(neighbour_cells), len(node_cells)
    i, *rest = ops.split(a, 4 + sides + nodes, axis=-1)
    lr, (f, o, u), s = rest[:sides], rest[sides : sides + 3], rest[sides + 3 :]
    c = gated_mean([i, *lr, f, *s], [tanh(u), *neighbour_cells, cell, *node_cells])
    return ops.sigmoid(o) * tanh(c), c


def node_update(
    weights: TransitionWeights,
    h: Tensor,
    c: Tensor,
    g: Tensor,
    c_g: Tensor,
    words: Words,
    gates: Tensor | None = None,
):
    """Eq. 3, for all sentence nodes; to each of them, every other node is one more word of its sums.

    Args:
        weights: The weights.
        h: `(batch, words, d)`, as they enter products.
        c: `(batch, words, d)`.
        g: `(batch, m, d)`, as they enter products.
        c_g: `(batch, m, d)`.
        words: Which words are present.
        gates: `(batch, words, m d)`, h U_f, where it is known already.

    Returns:
        `(g, c_g)`, the new hidden vectors and cells of the nodes.
    """
    m, d = c_g.shape[1:]
    own = ops.reshape(g, (-1, m * d)) @ weights.node_self + weights.node_bias
    w_g, w_f, w_o = ops.split(own, 3, axis=-1)  # (batch, m d) each, as all below
    mean = _sum_words(h) / ops.cast(words.count, h.dtype)
    u_g, u_o = ops.split(mean @ weights.node_mean, 2, axis=-1)

    # The softmax over the words and the node itself; its pre-activations are sigmoids, no maximum is subtracted.
    gates = project(h, weights.node_words) if gates is None else gates
    f = ops.exp(ops.sigmoid(gates + w_f[:, None]))
    f_g = ops.exp(ops.sigmoid(w_g + u_g))
    total = f_g + _sum_words(f if words.present is None else f * words.present)
    weighted = f_g * ops.reshape(c_g, (-1, m * d)) + _sum_words(f * (c if m == 1 else ops.tile(c, (1, 1, m))))
    if m > 1:
        f = project(g, weights.node_words) + w_f[:, None]  # (batch, node read, m d)
        f = ops.reshape(ops.exp(ops.sigmoid(f)), (-1, m, m, d))
        f = f * ops.reshape(1 - ops.eye(m, dtype=f.dtype), (1, m, m, 1))
        total = total + ops.reshape(ops.sum(f, axis=1), (-1, m * d))
        weighted = weighted + ops.reshape(ops.sum(f * c_g[:, :, None], axis=1), (-1, m * d))

    c_g = weighted / total
    g = ops.sigmoid(w_o + u_o) * tanh(c_g)
    return ops.reshape(g, (-1, m, d)), ops.reshape(c_g, (-1, m, d))


def _sum_words(x: Tensor) -> Tensor:
    """Sum over the words, in at least float32: a long sentence has more words than bfloat16 has digits."""
    dtype = keras.backend.standardize_dtype(x.dtype)
    return ops.cast(ops.sum(ops.cast(x, accumulation_dtype(dtype)), axis=1), dtype)
