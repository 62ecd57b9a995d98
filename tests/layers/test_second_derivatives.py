"""Second derivatives, as a gradient penalty takes them, are those of the gradient, or raise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm import layers
from keras_slstm.ops.reference import reference_mode
from tests.backend import BACKEND, default_cotangent, dtype_policy, evaluate, to_numpy
from tests.layer_case import BATCH, TIME, LayerCase, sentences
from tests.layers.cases import CASES

STEP = 1e-5
# Their second derivatives are 0.
LINEAR = ("max_pooling", "average_pooling")
# Not known, and the message says so.
REFUSED = {
    **dict.fromkeys(("crf_partition", "crf_partition_pairwise", "crf_decoder"), "CRF functions have no second"),
    **({"transformer": "is not implemented"} if BACKEND == "torch" else {}),  # for PyTorch's own attention
}
MORE_CASES = [
    LayerCase("cas_lstm_segments", lambda: layers.CASLSTM(3, segment_length=2), variant=True),
    LayerCase("slstm_again", lambda: layers.SLSTM(3, steps=3, rematerialize=True), variant=True),
    LayerCase("subilstm_near_again", lambda: layers.SuBiLSTM(3, max_context=2, rematerialize=True), variant=True),
    LayerCase(
        "depth_adaptive_grn_full_again",
        lambda: layers.DepthAdaptiveGRN(4, 3, selection="full", rematerialize=True),
        variant=True,
    ),
]


def _hessian_product(layer: keras.Layer, x: np.ndarray, mask: np.ndarray, direction: list[np.ndarray]) -> list[Any]:
    """The derivative, in a direction of input and weights, of the gradients that `evaluate` returns."""
    variables = layer.trainable_variables

    def call(x: Any, *weights: Any) -> Any:
        if BACKEND != "jax":
            return layer(x, mask=mask)
        with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
            return layer(x, mask=mask)

    def loss(*tensors: Any) -> Any:
        found = [y for y in keras.tree.flatten(call(*tensors)) if keras.backend.is_float_dtype(y.dtype)]
        return sum(ops.sum(y * ops.convert_to_tensor(default_cotangent(tuple(y.shape)))) for y in found)

    def slope(gradients: Any) -> Any:
        pairs = zip(gradients, direction, strict=True)
        return sum(ops.sum(d * ops.convert_to_tensor(v)) for d, v in pairs if d is not None)

    tensors = [ops.convert_to_tensor(x), *(variable.value for variable in variables)]
    found = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[BACKEND](loss, slope, tensors)
    return [np.zeros(tuple(x.shape)) if d is None else to_numpy(d) for d, x in zip(found, tensors, strict=True)]


def _tensorflow(loss: Any, slope: Any, tensors: list[Any]) -> Any:
    import tensorflow as tf

    with tf.GradientTape() as outer:
        outer.watch(tensors)
        with tf.GradientTape() as inner:
            inner.watch(tensors)
            value = loss(*tensors)
        along = slope(inner.gradient(value, tensors))
    return outer.gradient(along, tensors)


def _jax(loss: Any, slope: Any, tensors: list[Any]) -> Any:
    import jax

    places = tuple(range(len(tensors)))
    return jax.jit(jax.grad(lambda *tensors: slope(jax.grad(loss, places)(*tensors)), places))(*tensors)


def _torch(loss: Any, slope: Any, tensors: list[Any]) -> Any:
    import torch

    tensors[0].requires_grad_()
    along = slope(torch.autograd.grad(loss(*tensors), tensors, create_graph=True, allow_unused=True))
    return torch.autograd.grad(along, tensors, allow_unused=True)


def _difference(layer: keras.Layer, x: np.ndarray, mask: np.ndarray, direction: list[np.ndarray]) -> list[np.ndarray]:
    """The same by finite differences of the gradients."""
    variables = layer.trainable_variables
    values = [to_numpy(variable.value) for variable in variables]

    def gradients(step: float) -> list[np.ndarray]:
        for variable, value, v in zip(variables, values, direction[1:], strict=True):
            variable.assign(value + step * v)
        found = evaluate(layer, x + step * direction[0], mask)
        return [found.input_gradient, *found.weight_gradients.values()]

    return [(y - z) / (2 * STEP) for y, z in zip(gradients(STEP), gradients(-STEP), strict=True)]


def _check(case: LayerCase) -> None:
    rng = np.random.default_rng(3)
    x, mask = sentences().astype("float64"), np.ones((BATCH, TIME), bool)
    mask[0, 4:] = False
    mask[1] = False
    with dtype_policy("float64"):
        layer = case.built("float64")
        direction = [rng.normal(size=x.shape), *(rng.normal(size=v.shape) for v in layer.trainable_variables)]
        found = _hessian_product(layer, x, mask, direction)
        expected = _difference(layer, x, mask, direction)
    scale = max(np.abs(y).max() for y in expected)
    assert scale > 1e-3, "the case shows nothing: all second derivatives are 0"
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-6, atol=1e-7 * scale)


def _parameters() -> Iterator[Any]:
    """The backends that compile take minutes: they run the main case of each layer."""
    main = [pytest.mark.ci_run("torch", "tensorflow"), pytest.mark.short_run("torch")]
    for case in [*CASES, *MORE_CASES]:
        if case.name not in LINEAR:
            marks = [pytest.mark.backends("torch")] if case.variant or case.wrapped else main
            yield pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", _parameters())
def test_second_derivatives(case):
    if case.name not in REFUSED:
        _check(case)
        return
    with pytest.raises(Exception, match=REFUSED[case.name]):
        _check(case)


@pytest.mark.ci_run("torch", "tensorflow")
@pytest.mark.short_run("torch")
@pytest.mark.parametrize("name", ["crf_partition", "crf_partition_pairwise"])
def test_a_crf_in_reference_mode_has_second_derivatives(name):
    """As the message says."""
    (case,) = (case for case in CASES if case.name == name)
    with reference_mode():
        _check(case)


class TakesItsGradientForAConstant(keras.layers.Layer):
    """The square of the input, whose gradient is right."""

    def call(self, inputs, mask=None):
        constant = ops.stop_gradient(inputs)
        return ops.sum(2 * constant * inputs - constant * constant + 0 * inputs**3, axis=1)


@pytest.mark.short_run("torch")
def test_a_wrong_second_derivative_is_detected():
    with pytest.raises(AssertionError, match="Not equal"):
        _check(LayerCase("wrong", TakesItsGradientForAConstant))
