from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import layers
from tests.backend import EXACT, EXACT_GRADIENT, default_cotangent, dtype_policy, evaluate, to_numpy
from tests.layer_case import randomize
from tests.oracles import pooling
from tests.oracles.differences import central_differences

X = np.random.default_rng(0).normal(size=(4, 5, 3))
MASK = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], bool)


def _run(layer, x=X, mask=MASK, **call_kwargs):
    with dtype_policy("float64"):
        return evaluate(layer, x, mask, **call_kwargs)


def _attention(**kwargs):
    with dtype_policy("float64"):
        layer = layers.AttentionPooling(**kwargs)
        layer.build(X.shape)
        randomize(layer)
        weights = [keras.ops.convert_to_numpy(w) for w in (layer.kernel, layer.bias, layer.query)]
    return layer, weights


@pytest.mark.parametrize(
    ("layer_class", "oracle"),
    [
        (layers.MaskedGlobalMaxPooling1D, pooling.max_pooling),
        (layers.MaskedGlobalAveragePooling1D, pooling.average_pooling),
    ],
)
def test_pooling_is_the_explicit_loop(layer_class, oracle):
    with dtype_policy("float64"):
        layer = layer_class()
    found = _run(layer)
    np.testing.assert_allclose(found.outputs[0], oracle(X, MASK), **EXACT)
    np.testing.assert_allclose(_run(layer, mask=None).outputs[0], oracle(X, np.ones_like(MASK)), **EXACT)
    expected = central_differences(lambda x: np.sum(oracle(x, MASK) * default_cotangent((4, 3))), X)
    np.testing.assert_allclose(found.input_gradient, expected, **EXACT_GRADIENT)


@pytest.mark.parametrize("units", [None, 2])
def test_attention_is_the_explicit_loop(units):
    layer, weights = _attention(units=units)
    found = _run(layer, return_attention_scores=True)
    for one, other in zip(found.outputs, pooling.attention_pooling(X, MASK, *weights), strict=True):
        np.testing.assert_allclose(one, other, **EXACT)


def test_attention_gradients_are_finite_differences():
    layer, weights = _attention(units=2)
    found = _run(layer)

    def loss(x, *weights):
        return np.sum(pooling.attention_pooling(x, MASK, *weights)[0] * default_cotangent((4, 3)))

    arguments = [X, *weights]
    gradients = [found.input_gradient, *found.weight_gradients.values()]
    for position, gradient in enumerate(gradients):
        expected = central_differences(
            lambda value, k=position: loss(*arguments[:k], value, *arguments[k + 1 :]), arguments[position]
        )
        np.testing.assert_allclose(gradient, expected, **EXACT_GRADIENT)


def test_attention_size_defaults_to_the_features():
    layer, _ = _attention()
    assert layer.units is None
    assert [tuple(w.shape) for w in layer.weights] == [(3, 3), (3,), (3,)]


def test_half_precision_sums_do_not_overflow():
    x = np.full((1, 100, 1), 1000.0, "float16")  # the sum is beyond float16
    layer = layers.MaskedGlobalAveragePooling1D(dtype="float16")
    assert to_numpy(layer(x, mask=np.ones((1, 100), bool))) == 1000.0
    assert to_numpy(layer(x)) == 1000.0


def test_attention_with_extreme_scores():
    layer = layers.AttentionPooling(1, kernel_initializer="ones", query_initializer=keras.initializers.Constant(1e4))
    x = np.array([[[-1.0], [1.0]]], "float32")
    assert to_numpy(layer(x)) == 1.0


@pytest.mark.parametrize("units", [0, -1, 2.5, "3", True])
def test_attention_rejects_units(units):
    with pytest.raises(ValueError, match=r"`units` must be an integer of at least 1, but got"):
        layers.AttentionPooling(units)


@pytest.mark.parametrize(
    "layer_class",
    [layers.AttentionPooling, layers.MaskedGlobalAveragePooling1D, layers.MaskedGlobalMaxPooling1D],
)
def test_input_and_mask_must_match(layer_class):
    with pytest.raises(ValueError, match="expected ndim=3"):
        layer_class()(np.zeros((2, 3), "float32"))
    with pytest.raises(ValueError, match=r"mask of shape \(batch, time\)"):
        layer_class()(np.zeros((2, 3, 4), "float32"), mask=np.ones((2, 3, 1), bool))
    for shape in ((2, 4), (1, 3)):
        with pytest.raises(ValueError, match=r"mask of shape \(batch, time\)"):
            layer_class()(np.zeros((2, 3, 4), "float32"), mask=np.ones(shape, bool))


def test_means_of_integers_are_not_truncated():
    layer = layers.MaskedGlobalAveragePooling1D()
    assert to_numpy(layer(np.array([[[1], [2]]]))) == 1.5
    assert to_numpy(layer(np.array([[[1], [2], [9]]]), mask=np.array([[True, True, False]]))) == 1.5
