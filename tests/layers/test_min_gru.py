from __future__ import annotations

import numpy as np
import pytest

from keras_slstm import layers
from keras_slstm.models import build_encoder
from tests.backend import EXACT, EXACT_GRADIENT, default_cotangent, dtype_policy, evaluate, to_numpy
from tests.layer_case import randomize
from tests.oracles.differences import central_differences
from tests.oracles.min_gru import min_gru

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

UNITS = 2
X = np.random.default_rng(0).normal(size=(4, 4, 3))
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]], bool)


def _layer(**kwargs):
    with dtype_policy("float64"):
        layer = layers.MinGRU(UNITS, **kwargs)
        layer.build(X.shape)
        randomize(layer)
    return layer


def _run(layer, mask=MASK):
    with dtype_policy("float64"):
        return evaluate(layer, X, mask)


def _weights(layer):
    return [to_numpy(layer.cell.kernel), to_numpy(layer.cell.bias)]


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
def test_layer_is_the_explicit_loop(backwards, unroll):
    layer = _layer(return_sequences=True, return_state=True, go_backwards=backwards, unroll=unroll)
    for mask in (MASK, None):
        states, h = _run(layer, mask).outputs
        whole = np.ones_like(MASK) if mask is None else mask
        expected = min_gru(X, whole, *_weights(layer), backwards=backwards)
        np.testing.assert_allclose(states[:, ::-1] if backwards else states, expected[0], **EXACT)
        np.testing.assert_allclose(h, expected[1], **EXACT)


def test_gradients_are_finite_differences():
    layer = _layer()
    found = _run(layer)
    arguments = [X, *_weights(layer)]
    gradients = [found.input_gradient, *found.weight_gradients.values()]
    assert len(gradients) == len(arguments)

    def loss(x, *weights):
        return np.sum(min_gru(x, MASK, *weights)[1] * default_cotangent((4, UNITS)))

    for position, gradient in enumerate(gradients):
        expected = central_differences(
            lambda value, k=position: loss(*arguments[:k], value, *arguments[k + 1 :]), arguments[position]
        )
        np.testing.assert_allclose(gradient, expected, **EXACT_GRADIENT)


def test_given_states_are_continued():
    """Reading a sentence in two parts equals reading it at once; an empty part changes no state."""
    layer = _layer(return_state=True)
    with dtype_policy("float64"):
        whole = [to_numpy(y) for y in layer(X)]
        _, *states = layer(X[:, :2])
        _, *states = layer(X[:, :2], initial_state=states, mask=np.zeros((4, 2), bool))
        parts = [to_numpy(y) for y in layer(X[:, 2:], initial_state=states)]
    np.testing.assert_allclose(parts, whole, **EXACT)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"units": 0}, "`units` must be an integer of at least 1, but got 0"),
        ({"units": 2, "dropout": 1.0}, r"`dropout` must be in \[0, 1\), but got 1.0"),
    ],
)
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        layers.MinGRU(**kwargs)


def test_the_encoder_is_a_stack_of_both_directions():
    encoder = build_encoder("mingru", 3, num_layers=2)
    encoder.build((None, None, 4))
    # In each layer and direction, a kernel and a bias; the second layer reads both directions of the first.
    shapes = [tuple(weight.shape) for weight in encoder.trainable_weights]
    assert shapes == [(4, 6), (6,)] * 2 + [(6, 6), (6,)] * 2
    assert to_numpy(encoder(np.ones((2, 5, 4), "float32"))).shape == (2, 6)
