"""A layer of the depth-adaptive GRN for some of its words, for `depth_skipping`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_slstm.ops.backend.traceable import pad
from keras_slstm.ops.kernels.slstm import ArrangedWeights, Inputs, node_update, word_update
from keras_slstm.ops.kernels.tensorflow_ops import add_all, gather_rows, replace_rows, slice_along
from keras_slstm.ops.projection import project
from keras_slstm.ops.slstm import State
from keras_slstm.types import Tensor


class SortedWords(NamedTuple):
    """Values shared by all layers: one row per word of the batch, deepest words first.

    Attributes:
        places: `(rows,)`, the index of the word in the flattened batch.
        around: `(rows, 3)`, the indices of its left neighbour, itself and its right neighbour; the total number of
            words for a missing neighbour.
        sentence: `(rows,)`, the index of its sentence.
        dropout_mask: `(rows, d)`, multiplies its h before every product, or None.
    """

    places: Tensor
    around: Tensor
    sentence: Tensor
    dropout_mask: Tensor | None

    def first(self, size: Any) -> SortedWords:
        """The first rows: the words that still run."""
        return SortedWords(*(None if x is None else slice_along(x, 0, size) for x in self))


class LayerState(NamedTuple):
    """Values that change from layer to layer, with the words in the order of the batch.

    Attributes:
        h: `(words, d)`, or None if it equals `read`.
        read: `(words + 1, d)`, h after dropout, and a row of zeros for missing neighbours.
        c: `(words + 1, d)`, likewise.
        gates: `(words, d)`, h U_f of eq. 3, which is not recomputed for stopped words.
        g, c_g: `(batch, 1, d)`.
    """

    h: Tensor | None
    read: Tensor
    c: Tensor
    gates: Tensor
    g: Tensor
    c_g: Tensor


def sort_words(depths: Tensor, projected: Tensor, h_dropout_mask: Tensor | None) -> tuple[SortedWords, Tensor]:
    """Sort the words, deepest first, and x U + b of eq. 2 in the same order, `(rows, 7 d)`."""
    batch, time = ops.shape(depths)
    order = ops.cast(ops.argsort(-ops.reshape(depths, (-1,))), "int32")
    position = order % time
    absent = ops.full_like(order, batch * time)
    left = ops.where(position == 0, absent, order - 1)
    right = ops.where(position == time - 1, absent, order + 1)
    dropout_mask = None if h_dropout_mask is None else ops.take(_rows(h_dropout_mask), order, axis=0)
    words = SortedWords(order, ops.stack([left, order, right], axis=1), order // time, dropout_mask)
    return words, ops.take(_rows(projected), order, axis=0)


def first_layer_state(weights: ArrangedWeights, state: State, h_dropout_mask: Tensor | None) -> LayerState:
    """The state before the first layer."""
    read = state.h if h_dropout_mask is None else state.h * h_dropout_mask
    gates = _rows(project(read, weights.node_words))
    h = None if h_dropout_mask is None else _rows(state.h)
    return LayerState(h, _append_zeros(_rows(read)), _append_zeros(_rows(state.c)), gates, state.g, state.c_g)


def compute_layer(
    weights: ArrangedWeights,
    before: LayerState,
    rows: SortedWords,
    projected: Tensor,
    inputs: Inputs,
    node_runs: Tensor,
    g_dropout_mask: Tensor | None,
    count: Tensor | None = None,
    window_product: Callable[[Tensor, Tensor], Tensor] = operator.matmul,
) -> LayerState:
    """Compute one layer, which updates the words of `rows`, or only the first `count` of them.

    `window_product` multiplies the windows of words by their weights, which takes most of the time.
    """
    h, read, c, gates, g, c_g = before
    d = c.shape[-1]
    g_read = g if g_dropout_mask is None else g * g_dropout_mask

    xi = windows(read, rows)
    a = add_all(
        [window_product(xi, weights.words), projected, gather_rows(g_read[:, 0] @ weights.sentence, rows.sentence)]
    )
    # A single lookup, because the gradient of each lookup is a table of all words.
    left, own, right = ops.split(ops.take(c, ops.reshape(ops.transpose(rows.around), (-1,)), axis=0), 3)
    new_h, new_c = word_update(a, [left, right], own, [gather_rows(c_g[:, 0], rows.sentence)])
    if count is not None:
        runs = (ops.arange(ops.shape(new_h)[0], dtype="int32") < count)[:, None]
        new_h = ops.where(runs, new_h, ops.take(read if h is None else h, rows.places, axis=0))
        new_c = ops.where(runs, new_c, own)
    new_read = new_h if rows.dropout_mask is None else new_h * rows.dropout_mask

    batch, number_of_words = ops.shape(g)[0], ops.shape(gates)[0]
    all_words = (slice_along(read, 0, number_of_words), slice_along(c, 0, number_of_words), gates)
    all_read, all_c, all_gates = (ops.reshape(x, (batch, -1, d)) for x in all_words)
    new_g, new_c_g = node_update(weights, all_read, all_c, g_read, c_g, inputs, all_gates)
    return LayerState(
        None if h is None else replace_rows(h, rows.places, new_h),
        replace_rows(read, rows.places, new_read),
        replace_rows(c, rows.places, new_c),
        replace_rows(gates, rows.places, new_read @ weights.node_words),
        ops.where(node_runs, new_g, g),
        ops.where(node_runs, new_c_g, c_g),
    )


def windows(read: Tensor, rows: SortedWords) -> Tensor:
    """`(rows, 3 d)`: each word between its neighbours."""
    return ops.reshape(ops.take(read, ops.reshape(rows.around, (-1,)), axis=0), (-1, 3 * read.shape[-1]))


def final_state(after: LayerState, like: State) -> State:
    """The state after the last layer, in the shapes of the state `like`."""
    shape = ops.shape(like.h)
    rows = shape[0] * shape[1]
    h = slice_along(after.read, 0, rows) if after.h is None else after.h
    return State(ops.reshape(h, shape), ops.reshape(slice_along(after.c, 0, rows), shape), after.g, after.c_g)


def _rows(x: Tensor) -> Tensor:
    """Reshape `(batch, words, d)` to `(batch * words, d)`."""
    return ops.reshape(x, (-1, x.shape[-1]))


def _append_zeros(x: Tensor) -> Tensor:
    """Append a row of zeros."""
    return pad(x, ((0, 1), (0, 0)))


def words_per_layer(depths: Tensor, max_depth: int) -> Tensor:
    """`(max_depth,)` int32: the number of words that run in each layer."""
    layers = ops.arange(1, max_depth + 1, dtype="int32")
    return ops.sum(ops.cast(ops.reshape(depths, (-1, 1)) >= layers, "int32"), axis=0)


def deepest_words(depths: Tensor) -> Tensor:
    """`(batch, 1, 1)`: the largest depth of each sentence."""
    deepest = ops.max(depths, axis=1)  # not `initial=0`: on PyTorch, Keras puts it on the CPU
    return ops.maximum(deepest, 0)[:, None, None]
