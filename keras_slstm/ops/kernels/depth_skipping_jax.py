"""The depth-adaptive GRN on JAX, computing only words that still run, with shapes that XLA knows."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from keras import ops

from keras_slstm.ops.backend.traceable import pad
from keras_slstm.ops.kernels.depth_layers import (
    LayerState,
    compute_layer,
    deepest_words,
    final_state,
    first_layer_state,
    sort_words,
    windows,
    words_per_layer,
)
from keras_slstm.ops.kernels.slstm import ArrangedWeights, Inputs
from keras_slstm.ops.slstm import State
from keras_slstm.types import Tensor


def skip(
    weights: ArrangedWeights,
    state: State,
    inputs: Inputs,
    depths: Tensor,
    max_depth: int,
    h_dropout_mask: Tensor | None,
    g_dropout_mask: Tensor | None,
    rematerialize: bool,
) -> State:
    """Round the number of running words up to one of a few sizes, each with its own branch."""
    sizes = prefix_sizes(depths.shape[0] * depths.shape[1])
    rows, projected = sort_words(depths, inputs.projected, h_dropout_mask)
    inputs = inputs._replace(projected=None)  # no longer needed

    def branch(size: int) -> _Branch:
        def run(fixed: Any, learned: Any, product: Tensor | None = None) -> LayerState:
            (rows, inputs, g_dropout_mask, count, node_runs), (weights, projected, before) = fixed, learned
            if not size:  # all words have stopped
                return before
            arguments = rows.first(size), projected[:size], inputs, node_runs, g_dropout_mask, count
            known = operator.matmul if product is None else functools.partial(_known_product, product[:size])
            return compute_layer(weights, before, *arguments, known)

        def product(fixed: Any, learned: Any) -> Tensor:
            (rows, *_), (weights, projected, before) = fixed, learned
            if not size:
                return ops.zeros_like(projected)
            found = windows(before.read, rows.first(size)) @ weights.words
            return pad(found, ((0, sizes[-1] - size), (0, 0)))  # all branches return the same shape

        return _Branch(run, product)

    run_branch = _switch([branch(size) for size in sizes], rematerialize)

    def layer(before: LayerState, at_layer: tuple[Tensor, Tensor]) -> tuple[LayerState, None]:
        count, node_runs = at_layer
        index = sum(ops.cast(count > size, "int32") for size in sizes[:-1])
        fixed = (rows, inputs, g_dropout_mask, count, node_runs)
        return run_branch(index, fixed, (weights, projected, before)), None

    layers = ops.arange(1, max_depth + 1, dtype="int32")[:, None, None, None]
    per_layer = words_per_layer(depths, max_depth), deepest_words(depths) >= layers
    after, _ = jax.lax.scan(layer, first_layer_state(weights, state, h_dropout_mask), per_layer)
    return final_state(after, state)


def prefix_sizes(words: int, parts: int = 8, least: int = 64) -> list[int]:
    """The sizes to which the number of running words is rounded up: 0, then in growing steps.

    Each size has a branch that takes seconds to compile. Twice as many would save 2 to 4% of the time of a step.
    """
    step = max(-(-words // parts), least)
    sizes = [0]
    while sizes[-1] < words:
        sizes.append(min(sizes[-1] + max(step, sizes[-1] // 2), words))
    return sizes


class _Branch(NamedTuple):
    """A layer for some number of words.

    Attributes:
        run: Computes the layer from `(fixed, learned)`, and does not compute its product if that is the third argument.
        product: Computes the product of the layer from `(fixed, learned)`.
    """

    run: Callable[..., Any]
    product: Callable[[Any, Any], Tensor]


def _switch(branches: list[_Branch], rematerialize: bool) -> Callable[[Tensor, Any, Any], Any]:
    """`jax.lax.switch` whose gradient reruns the chosen branch, instead of storing the residuals of all branches.

    Only the product of the branch is stored, because it takes most of the time; with `rematerialize`, not even that.
    """

    @jax.custom_vjp
    def run(index: Tensor, fixed: Any, learned: Any) -> Any:
        return jax.lax.switch(index, [branch.run for branch in branches], fixed, learned)

    def forward(index: Tensor, fixed: Any, learned: Any) -> Any:
        if rematerialize:
            return run(index, fixed, learned), (index, fixed, learned, None)

        def keeping(branch: _Branch) -> Callable[[Any, Any], Any]:
            def run(fixed: Any, learned: Any) -> Any:
                product = branch.product(fixed, learned)
                return branch.run(fixed, learned, product), product

            return run

        found, product = jax.lax.switch(index, [keeping(branch) for branch in branches], fixed, learned)
        return found, (index, fixed, learned, product)

    def backward(kept: Any, upstream: Any) -> Any:
        def gradient(branch: _Branch) -> Callable[[Any, Any, Any, Any], Any]:
            def run(fixed: Any, learned: Any, product: Any, upstream: Any) -> Any:
                _, pull_back = jax.vjp(lambda learned: branch.run(fixed, learned, product), learned)
                return pull_back(upstream)[0]

            return run

        index, *arguments = kept
        return None, None, jax.lax.switch(index, [gradient(branch) for branch in branches], *arguments, upstream)

    run.defvjp(forward, backward)
    return run  # type: ignore[no-any-return]


def _known_product(product: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return `a @ b`, which is already known, with its gradient in `a` and `b`."""

    @ops.custom_gradient
    def compute(product: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Any]:
        def gradient(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            return ops.zeros_like(product), upstream @ ops.transpose(b), ops.transpose(a) @ upstream

        return product, gradient

    # An argument, because JAX takes no second derivative of a function that closes over the product.
    found: Tensor = compute(product, a, b)
    return found
