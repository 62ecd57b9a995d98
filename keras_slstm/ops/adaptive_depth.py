"""The sentence-state transition where each word stops at a depth of its own: eq. 14 of Liu et al. (2020).

`run_to_depths` is what layers call. `every_word` says what it computes; the other ways skip the words that have
stopped: the words of a batch are sorted by depth once, so that those that still run are the first ones in every layer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_slstm.ops.kernels.tensorflow_ops import add_all, part, replace_rows, rows_of
from keras_slstm.ops.projection import project
from keras_slstm.ops.sentence_state import State, TransitionWeights, Words, node_update, transition, word_update
from keras_slstm.types import Tensor


def run_to_depths(
    weights: TransitionWeights,
    state: State,
    words: Words,
    depths: Tensor,
    max_depth: int,
    h_noise: Tensor | None = None,
    g_noise: Tensor | None = None,
    training: Any = False,
) -> State:
    """The state after all words have stopped.

    In layer l, words with `depths >= l` take the transition, from the states that all words have then; the others keep
    theirs. The sentence node, of which there is one, takes as many steps as the deepest word of its sentence.

    Args:
        weights: The weights of the transition, with one neighbour on each side and one sentence node.
        state: The state before the first layer; zero at absent words.
        words: The projected words, and which of them are present.
        depths: `(batch, words)` int32: 1 to `max_depth`, and 0 at absent words.
        max_depth: Number of layers.
        h_noise, g_noise: As in `transition`.
        training: Whether a gradient will be taken: a hint, which changes the speed alone.
    """
    if keras.backend.backend() == "tensorflow":
        return _tensorflow(weights, state, words, depths, max_depth, h_noise, g_noise, training)
    skip = {"jax": _jax, "torch": _torch}[keras.backend.backend()]
    return skip(weights, state, words, depths, max_depth, h_noise, g_noise)


def every_word(
    weights: TransitionWeights,
    state: State,
    words: Words,
    depths: Tensor,
    max_depth: int,
    h_noise: Tensor | None = None,
    g_noise: Tensor | None = None,
) -> State:
    """The same, by computing every word in every layer and selecting afterwards."""
    deepest = ops.max(depths, axis=1)
    for layer in range(1, max_depth + 1):
        new = transition(weights, state, words, h_noise, g_noise)
        runs, node_runs = (depths >= layer)[..., None], (deepest >= layer)[:, None, None]
        state = State(
            ops.where(runs, new.h, state.h),
            ops.where(runs, new.c, state.c),
            ops.where(node_runs, new.g, state.g),
            ops.where(node_runs, new.c_g, state.c_g),
        )
    return state


class _Sorted(NamedTuple):
    """What stays the same over the layers, a row for each word of the batch, deepest words first.

    Attributes:
        places: `(rows,)`, where the word stands in the batch, sentence after sentence.
        around: `(rows, 3)`, the places of its left neighbour, itself and its right neighbour; the number of all words
            where there is none.
        sentence: `(rows,)`, the number of its sentence.
        noise: `(rows, d)`, by what its h is multiplied where it is read, or None.
    """

    places: Tensor
    around: Tensor
    sentence: Tensor
    noise: Tensor | None

    def first(self, size: Any) -> _Sorted:
        """The first rows: the words that still run."""
        return _Sorted(*(None if x is None else part(x, 0, size) for x in self))


class _Running(NamedTuple):
    """What changes from layer to layer; words stand where they stand in the batch.

    Attributes:
        h: `(words, d)`, or None where it is what `read` has.
        read: `(words + 1, d)`, h as products read it, and a row of zeros: the neighbour of a word that has none.
        c: `(words + 1, d)`, likewise.
        gates: `(words, d)`, h U_f of eq. 3: of words that have stopped, it is not computed again.
        g, c_g: `(batch, 1, d)`.
    """

    h: Tensor | None
    read: Tensor
    c: Tensor
    gates: Tensor
    g: Tensor
    c_g: Tensor


def _sort(depths: Tensor, projected: Tensor, h_noise: Tensor | None) -> tuple[_Sorted, Tensor]:
    """The words, deepest first, and x U + b of eq. 2 in that order, `(rows, 7 d)`."""
    batch, time = ops.shape(depths)
    order = ops.cast(ops.argsort(-ops.reshape(depths, (-1,))), "int32")
    position = order % time
    nobody = ops.full_like(order, batch * time)
    left = ops.where(position == 0, nobody, order - 1)
    right = ops.where(position == time - 1, nobody, order + 1)
    noise = None if h_noise is None else ops.take(_rows(h_noise), order, axis=0)
    words = _Sorted(order, ops.stack([left, order, right], axis=1), order // time, noise)
    return words, ops.take(_rows(projected), order, axis=0)


def _begin(weights: TransitionWeights, state: State, h_noise: Tensor | None) -> _Running:
    read = state.h if h_noise is None else state.h * h_noise
    gates = _rows(project(read, weights.node_words))
    h = None if h_noise is None else _rows(state.h)
    return _Running(h, _with_nobody(_rows(read)), _with_nobody(_rows(state.c)), gates, state.g, state.c_g)


def _layer(
    weights: TransitionWeights,
    running: _Running,
    rows: _Sorted,
    projected: Tensor,
    words: Words,
    node_runs: Tensor,
    g_noise: Tensor | None,
    count: Tensor | None = None,
) -> _Running:
    """One layer, in which the words of `rows` are updated: with `count`, so many of them from the first on."""
    h, read, c, gates, g, c_g = running
    d = c.shape[-1]
    g_read = g if g_noise is None else g * g_noise

    xi = ops.reshape(ops.take(read, ops.reshape(rows.around, (-1,)), axis=0), (-1, 3 * d))
    a = add_all([xi @ weights.words, projected, rows_of(g_read[:, 0] @ weights.sentence, rows.sentence)])
    # In one go: of three, the gradients would be three tables of all words.
    left, own, right = ops.split(ops.take(c, ops.reshape(ops.transpose(rows.around), (-1,)), axis=0), 3)
    new_h, new_c = word_update(a, [left, right], own, [rows_of(c_g[:, 0], rows.sentence)])
    if count is not None:
        runs = (ops.arange(ops.shape(new_h)[0], dtype="int32") < count)[:, None]
        new_h = ops.where(runs, new_h, ops.take(read if h is None else h, rows.places, axis=0))
        new_c = ops.where(runs, new_c, own)
    new_read = new_h if rows.noise is None else new_h * rows.noise

    batch, everyone = ops.shape(g)[0], ops.shape(gates)[0]
    all_words = (part(read, 0, everyone), part(c, 0, everyone), gates)
    all_read, all_c, all_gates = (ops.reshape(x, (batch, -1, d)) for x in all_words)
    new_g, new_c_g = node_update(weights, all_read, all_c, g_read, c_g, words, all_gates)
    return _Running(
        None if h is None else replace_rows(h, rows.places, new_h),
        replace_rows(read, rows.places, new_read),
        replace_rows(c, rows.places, new_c),
        replace_rows(gates, rows.places, new_read @ weights.node_words),
        ops.where(node_runs, new_g, g),
        ops.where(node_runs, new_c_g, c_g),
    )


def _end(running: _Running, like: State) -> State:
    shape = ops.shape(like.h)
    rows = shape[0] * shape[1]
    h = part(running.read, 0, rows) if running.h is None else running.h
    return State(ops.reshape(h, shape), ops.reshape(part(running.c, 0, rows), shape), running.g, running.c_g)


def _rows(x: Tensor) -> Tensor:
    """`(batch, words, d)` as `(batch * words, d)`."""
    return ops.reshape(x, (-1, x.shape[-1]))


def _with_nobody(x: Tensor) -> Tensor:
    """A row of zeros behind the rows of x."""
    return ops.pad(x, ((0, 1), (0, 0)))


def _counts(depths: Tensor, max_depth: int) -> Tensor:
    """`(max_depth,)` int32: how many words run in each layer."""
    layers = ops.arange(1, max_depth + 1, dtype="int32")
    return ops.sum(ops.cast(ops.reshape(depths, (-1, 1)) >= layers, "int32"), axis=0)


def _tensorflow(weights, state, words, depths, max_depth, h_noise, g_noise, training):
    """As many words as run, by slices of any size; XLA, whose sizes are fixed, computes every word."""
    import tensorflow as tf
    from tensorflow.python.ops import control_flow_util

    arguments = weights, state, words, depths
    if not tf.executing_eagerly() and control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph()):
        return every_word(*arguments, max_depth, h_noise, g_noise)

    def unless_all_have_stopped(count: Tensor, layer: Callable[[], _Running], running: _Running) -> _Running:
        # The gradient of a branch costs more than a layer without words, of which a training has few.
        return layer() if training else tf.cond(count > 0, layer, lambda: running)

    counts = tf.unstack(_counts(depths, max_depth))
    return _by_slices(*arguments, counts, h_noise, g_noise, unless_all_have_stopped)


def _torch(weights, state, words, depths, max_depth, h_noise, g_noise):
    def unless_all_have_stopped(count: int, layer: Callable[[], _Running], running: _Running) -> _Running:
        return layer() if count else running

    counts = _counts(depths, max_depth).tolist()
    return _by_slices(weights, state, words, depths, counts, h_noise, g_noise, unless_all_have_stopped)


def _by_slices(weights, state, words, depths, counts, h_noise, g_noise, unless_all_have_stopped):
    rows, projected = _sort(depths, words.projected, h_noise)
    running = _begin(weights, state, h_noise)
    deepest = ops.max(depths, axis=1)[:, None, None]
    for number, count in enumerate(counts, start=1):
        # Of those that ran before, not of all: the gradient of a slice is as large as what was sliced.
        rows, projected = rows.first(count), part(projected, 0, count)
        layer = functools.partial(_layer, weights, running, rows, projected, words, deepest >= number, g_noise)
        running = unless_all_have_stopped(count, layer, running)
    return _end(running, state)


def _jax(weights, state, words, depths, max_depth, h_noise, g_noise):
    """As many words as run, rounded up to one of a few sizes, for each of which there is a branch."""
    import jax

    if not all(isinstance(size, int) for size in depths.shape):  # exported for any size
        return every_word(weights, state, words, depths, max_depth, h_noise, g_noise)
    sizes = prefix_sizes(depths.shape[0] * depths.shape[1])
    rows, projected = _sort(depths, words.projected, h_noise)
    deepest = ops.max(depths, axis=1)[:, None, None]
    words = words._replace(projected=None)  # not for every layer to carry along

    def branch(size):
        def run(fixed, learned):
            (rows, words, g_noise, count, node_runs), (weights, projected, running) = fixed, learned
            if not size:  # all have stopped
                return running
            return _layer(weights, running, rows.first(size), projected[:size], words, node_runs, g_noise, count)

        return run

    branches = [branch(size) for size in sizes]

    def layer(running, at_layer):
        count, node_runs = at_layer
        index = sum(ops.cast(count > size, "int32") for size in sizes[:-1])
        fixed = (rows, words, g_noise, count, node_runs)
        return _switch(branches)(index, fixed, (weights, projected, running)), None

    layers = ops.arange(1, max_depth + 1, dtype="int32")[:, None, None, None]
    running, _ = jax.lax.scan(layer, _begin(weights, state, h_noise), (_counts(depths, max_depth), deepest >= layers))
    return _end(running, state)


def prefix_sizes(words: int, parts: int = 16, least: int = 64) -> list[int]:
    """The sizes to which the number of running words is rounded up: 0, and then by steps that grow."""
    step = max(-(-words // parts), least)
    sizes = [0]
    while sizes[-1] < words:
        sizes.append(min(sizes[-1] + max(step, sizes[-1] // 4), words))
    return sizes


def _switch(branches):
    """`jax.lax.switch` whose gradient runs the chosen branch again, instead of keeping what any of them might need."""
    import jax

    @jax.custom_vjp
    def run(index, fixed, learned):
        return jax.lax.switch(index, branches, fixed, learned)

    def forward(index, fixed, learned):
        return run(index, fixed, learned), (index, fixed, learned)

    def backward(kept, upstream):
        def gradient(branch):
            def run(fixed, learned, upstream):
                _, pull_back = jax.vjp(lambda learned: branch(fixed, learned), learned)
                return pull_back(upstream)[0]

            return run

        index, fixed, learned = kept
        return None, None, jax.lax.switch(index, [gradient(branch) for branch in branches], fixed, learned, upstream)

    run.defvjp(forward, backward)
    return run
