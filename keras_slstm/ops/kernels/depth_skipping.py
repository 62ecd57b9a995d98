"""The depth-adaptive GRN, computing only words that still run.

The words of a batch are sorted by depth once, so that the words that still run come first in every layer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import keras

from keras_slstm.ops import depth_adaptive_grn as equation
from keras_slstm.ops.backend.eager import torch_compiles
from keras_slstm.ops.backend.segments import repeat
from keras_slstm.ops.export_mode import in_export_mode
from keras_slstm.ops.kernels.depth_layers import (
    LayerState,
    SortedWords,
    compute_layer,
    deepest_words,
    final_state,
    first_layer_state,
    sort_words,
    words_per_layer,
)
from keras_slstm.ops.kernels.slstm import ArrangedWeights, Inputs, arrange_weights, make_inputs, transition
from keras_slstm.ops.kernels.tensorflow_context import inside_xla
from keras_slstm.ops.kernels.tensorflow_ops import slice_along
from keras_slstm.ops.reference import kernel_of
from keras_slstm.ops.slstm import SLSTMWeights, State, initial_state
from keras_slstm.types import Tensor


@kernel_of(equation.depth_adaptive_grn, exports=True)
def depth_adaptive_grn(
    weights: SLSTMWeights,
    x: Tensor,
    mask: Tensor | None,
    h0: Tensor,
    depths: Tensor | None,
    max_depth: int,
    h_dropout_mask: Tensor | None = None,
    g_dropout_mask: Tensor | None = None,
    training: bool = False,
    rematerialize: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Skips stopped words: 2.1 times as fast at a mean depth of 3 of 9.

    It computes all words in exports, under `torch.compile`, in training under XLA on TensorFlow, and on JAX if a size
    is unknown.
    """
    arranged, inputs = arrange_weights(weights, h0.shape[-1]), make_inputs(weights, x, mask)
    state = initial_state(weights, x, mask, h0)
    dropout_masks = h_dropout_mask, g_dropout_mask
    backend = keras.backend.backend()
    fixed_shapes = (inside_xla() and training) or torch_compiles() or in_export_mode()
    if depths is None or _is_empty(depths) or fixed_shapes or (backend == "jax" and not _is_static(depths)):
        again = rematerialize and not in_export_mode()  # an export takes no gradient
        state = _compute_every_word(arranged, state, inputs, depths, max_depth, *dropout_masks, again)
    elif backend == "jax":
        from keras_slstm.ops.kernels import depth_skipping_jax

        state = depth_skipping_jax.skip(arranged, state, inputs, depths, max_depth, *dropout_masks, rematerialize)
    elif inside_xla():
        from keras_slstm.ops.kernels import depth_skipping_xla

        state = depth_skipping_xla.skip(arranged, state, inputs, depths, max_depth, *dropout_masks)
    elif backend == "tensorflow":
        state = _skip_on_tensorflow(arranged, state, inputs, depths, max_depth, *dropout_masks, rematerialize, training)
    else:
        state = _skip_on_torch(arranged, state, inputs, depths, max_depth, *dropout_masks, rematerialize)
    return state.h, state.g, state.c_g


def skips_under_xla() -> bool:
    """Whether words are also skipped in training steps that XLA compiles."""
    return keras.backend.backend() != "tensorflow"


def _is_static(depths: Tensor) -> bool:
    return all(isinstance(size, int) for size in depths.shape)


def _is_empty(depths: Tensor) -> bool:
    return 0 in depths.shape


def _compute_every_word(
    weights: ArrangedWeights,
    state: State,
    inputs: Inputs,
    depths: Tensor | None,
    max_depth: int,
    h_dropout_mask: Tensor | None,
    g_dropout_mask: Tensor | None,
    rematerialize: bool,
) -> State:
    def run(layer: int) -> Callable[[Any, State], State]:
        def one_layer(constants: Any, state: State) -> State:
            weights, inputs, *dropout_masks = constants
            new = transition(weights, state, inputs, *dropout_masks)
            return new if depths is None else equation.select(depths, layer, new, state)

        return one_layer

    constants = weights, inputs, h_dropout_mask, g_dropout_mask
    if rematerialize and depths is None:
        return repeat(run(0), constants, state, max_depth)  # type: ignore[no-any-return]
    for layer in range(1, max_depth + 1):
        state = repeat(run(layer), constants, state, 1) if rematerialize else run(layer)(constants, state)
    return state


def _layer_once(constants: Any, rows: SortedWords, node_runs: Tensor, before: LayerState) -> LayerState:
    weights, projected, inputs, g_dropout_mask = constants
    return compute_layer(weights, before, rows, projected, inputs, node_runs, g_dropout_mask)


def _layer_again(constants: Any, rows: SortedWords, node_runs: Tensor, before: LayerState) -> LayerState:
    """Compute the layer so that its gradient stores only the arguments and recomputes the rest."""

    def layer(constants: Any, before: LayerState) -> LayerState:
        return _layer_once(constants, rows, node_runs, before)

    return repeat(layer, constants, before, 1)  # type: ignore[no-any-return]


def _skip_on_tensorflow(
    weights: ArrangedWeights,
    state: State,
    inputs: Inputs,
    depths: Tensor,
    max_depth: int,
    h_dropout_mask: Tensor | None,
    g_dropout_mask: Tensor | None,
    rematerialize: bool,
    training: bool,
) -> State:
    import tensorflow as tf

    def unless_all_have_stopped(count: Tensor, layer: Callable[[], LayerState], before: LayerState) -> LayerState:
        # The gradient of a branch costs more than a layer without words, which is rare in training.
        return layer() if training else tf.cond(count > 0, layer, lambda: before)

    counts = tf.unstack(words_per_layer(depths, max_depth))
    dropout_masks = h_dropout_mask, g_dropout_mask
    return _run_slices(weights, state, inputs, depths, counts, *dropout_masks, rematerialize, unless_all_have_stopped)


def _skip_on_torch(
    weights: ArrangedWeights,
    state: State,
    inputs: Inputs,
    depths: Tensor,
    max_depth: int,
    h_dropout_mask: Tensor | None,
    g_dropout_mask: Tensor | None,
    rematerialize: bool,
) -> State:
    def unless_all_have_stopped(count: int, layer: Callable[[], LayerState], before: LayerState) -> LayerState:
        return layer() if count else before

    counts = words_per_layer(depths, max_depth).tolist()
    dropout_masks = h_dropout_mask, g_dropout_mask
    return _run_slices(weights, state, inputs, depths, counts, *dropout_masks, rematerialize, unless_all_have_stopped)


def _run_slices(
    weights: ArrangedWeights,
    state: State,
    inputs: Inputs,
    depths: Tensor,
    counts: list[Any],
    h_dropout_mask: Tensor | None,
    g_dropout_mask: Tensor | None,
    rematerialize: bool,
    unless_all_have_stopped: Callable[[Any, Callable[[], LayerState], LayerState], LayerState],
) -> State:
    """In each layer, compute only the rows of words that still run."""
    rows, projected = sort_words(depths, inputs.projected, h_dropout_mask)
    now = first_layer_state(weights, state, h_dropout_mask)
    deepest = deepest_words(depths)
    for number, count in enumerate(counts, start=1):
        # Slice the previous slice, because the gradient of a slice is as large as the sliced tensor.
        rows, projected = rows.first(count), slice_along(projected, 0, count)
        arguments = rows, deepest >= number, now
        constants = weights, projected, inputs._replace(projected=None), g_dropout_mask
        layer = functools.partial(_layer_again if rematerialize else _layer_once, constants, *arguments)
        now = unless_all_have_stopped(count, layer, now)
    return final_state(now, state)
