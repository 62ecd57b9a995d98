"""The depth-adaptive GRN for inference under XLA on TensorFlow, computing only words that still run.

A gradient would have to store what each branch needs: a training step takes 2.8 times as long as with all words, and
compiling it five times as long (8 sentences of 32 words, 200 units).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_slstm.ops.kernels.depth_layers import (
    LayerState,
    compute_layer,
    deepest_words,
    final_state,
    first_layer_state,
    sort_words,
    words_per_layer,
)
from keras_slstm.ops.kernels.slstm import ArrangedWeights, Inputs
from keras_slstm.ops.slstm import State
from keras_slstm.types import Tensor, Tensors

PARTS = 8
LEAST = 64  # words; computing fewer would save nothing


def skip(
    weights: ArrangedWeights,
    state: State,
    inputs: Inputs,
    depths: Tensor,
    max_depth: int,
    h_dropout_mask: Tensor | None,
    g_dropout_mask: Tensor | None,
) -> State:
    """Round the number of running words up to a multiple of an eighth, each with its own branch."""
    rows, projected = sort_words(depths, inputs.projected, h_dropout_mask)
    inputs = inputs._replace(projected=None)  # no longer needed
    counts, deepest = words_per_layer(depths, max_depth), deepest_words(depths)
    first = first_layer_state(weights, state, h_dropout_mask)

    def size(part: int) -> Tensor:
        words = tf.size(depths)  # XLA knows it, even if TensorFlow does not
        return tf.minimum(tf.maximum(words * part // PARTS, LEAST * part), words)

    def layer(number: Tensor, before: LayerState) -> LayerState:
        count = counts[number - 1]

        def branch(part: int) -> Callable[[], Tensors]:
            def run() -> Tensors:
                if not part:  # all words have stopped
                    return _present(before)
                arguments = rows.first(size(part)), projected[: size(part)], inputs, deepest >= number
                return _present(compute_layer(weights, before, *arguments, g_dropout_mask, count))

            return run

        index = tf.add_n([tf.cast(count > size(part), tf.int32) for part in range(PARTS)])
        after = tf.switch_case(index, [branch(part) for part in range(PARTS + 1)])
        for x, like in zip(after, _present(before)):
            x.set_shape(like.shape)
        return _state(after, before)

    def body(number: Tensor, now: Tensors) -> tuple[Tensor, Tensors]:
        return number + 1, _present(layer(number, _state(now, first)))

    _, last = tf.while_loop(
        lambda number, _: number <= max_depth, body, (1, _present(first)), maximum_iterations=max_depth
    )
    return final_state(_state(last, first), state)


def _present(state: LayerState) -> Tensors:
    return tuple(x for x in state if x is not None)


def _state(present: Tensors, like: LayerState) -> LayerState:
    """Undo `_present` for a state that has the same fields as `like`."""
    left: Any = iter(present)
    return LayerState(*(None if x is None else next(left) for x in like))
