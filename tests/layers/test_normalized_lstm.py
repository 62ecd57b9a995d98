from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import layers
from tests.backend import BACKEND, EXACT, EXACT_GRADIENT, default_cotangent, dtype_policy, evaluate, to_numpy
from tests.layer_case import randomize
from tests.oracles.differences import central_differences
from tests.oracles.normalized_lstm import normalized_lstm

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

UNITS = 2
X = np.random.default_rng(0).normal(size=(4, 4, 3))
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]], bool)


def _layer(**kwargs):
    with dtype_policy("float64"):
        layer = layers.NormalizedLSTM(UNITS, **kwargs)
        layer.build(X.shape)
        randomize(layer)
    return layer


def _weights(cell):
    return [to_numpy(w) for w in (cell.kernel, cell.recurrent_kernel, cell.bias, cell.initial_state)]


def _run(layer, mask=MASK, **kwargs):
    with dtype_policy("float64"):
        return evaluate(layer, X, mask, **kwargs)


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
def test_layer_is_the_explicit_loop(backwards, unroll):
    layer = _layer(return_sequences=True, return_state=True, go_backwards=backwards, unroll=unroll)
    for mask in (MASK, None):
        states, h, c = _run(layer, mask).outputs
        with dtype_policy("float64"):
            whole = np.ones_like(MASK) if mask is None else mask
            expected = normalized_lstm(X, whole, *_weights(layer.cell), backwards=backwards)
        np.testing.assert_allclose(states[:, ::-1] if backwards else states, expected[0], **EXACT)
        np.testing.assert_allclose(h, expected[1], **EXACT)
        np.testing.assert_allclose(c, expected[2], **EXACT)


def test_last_output_is_the_state_after_the_last_real_word():
    layer = _layer()
    with dtype_policy("float64"):
        _, expected, _ = normalized_lstm(X, MASK, *_weights(layer.cell))
    np.testing.assert_allclose(_run(layer).outputs[0], expected, **EXACT)


def test_gradients_are_finite_differences():
    layer = _layer()
    found = _run(layer)
    with dtype_policy("float64"):
        arguments = [X, *_weights(layer.cell)]
    gradients = [found.input_gradient, *found.weight_gradients.values()]
    assert len(gradients) == len(arguments)

    def loss(x, *weights):
        return np.sum(normalized_lstm(x, MASK, *weights)[1] * default_cotangent((4, UNITS)))

    for position, gradient in enumerate(gradients):
        expected = central_differences(
            lambda value, k=position: loss(*arguments[:k], value, *arguments[k + 1 :]), arguments[position]
        )
        np.testing.assert_allclose(gradient, expected, **EXACT_GRADIENT)


@pytest.mark.parametrize("wrapped", [False, True])
def test_cell_in_keras_loops_is_the_layer(wrapped):
    """`keras.layers.RNN(cell)` computes the same, and the trained initial state gets its gradient."""
    with dtype_policy("float64"):
        loop = keras.layers.RNN(layers.NormalizedLSTMCell(UNITS), return_sequences=True)
        layer = layers.NormalizedLSTM(UNITS, return_sequences=True)
        pair = [keras.layers.Bidirectional(one) if wrapped else one for one in (loop, layer)]
        for one in pair:
            one.build(X.shape)
            randomize(one)
    first, second = (_run(one, mask=None) for one in pair)
    np.testing.assert_allclose(first.outputs[0], second.outputs[0], **EXACT)
    of_loop, of_layer = (list(one.weight_gradients.values()) for one in (first, second))
    for a, b in zip(of_loop, of_layer, strict=True):
        assert np.any(a)
        np.testing.assert_allclose(a, b, **EXACT_GRADIENT)


def test_given_states_are_continued():
    """Reading a sentence in two parts equals reading it at once; an empty part changes no state."""
    layer = _layer(return_state=True)
    with dtype_policy("float64"):
        whole = [to_numpy(y) for y in layer(X)]
        _, *states = layer(X[:, :2])
        _, *states = layer(X[:, :2], initial_state=states, mask=np.zeros((4, 2), bool))
        parts = [to_numpy(y) for y in layer(X[:, 2:], initial_state=states)]
    np.testing.assert_allclose(parts, whole, **EXACT)


def test_stateful_layer_returns_to_the_trained_state():
    layer = layers.NormalizedLSTM(UNITS, stateful=True, initial_state_initializer="ones")
    x = X.astype("float32")
    first, second = to_numpy(layer(x)), to_numpy(layer(x))
    assert np.max(np.abs(first - second)) > 1e-3
    layer.reset_state()
    np.testing.assert_allclose(to_numpy(layer(x)), first, atol=1e-6)


def test_stateful_layer_starts_from_the_trained_state():
    """It starts from the current value, not from the value when the layer was built."""
    plain, stateful = _layer(), _layer(stateful=True)
    weights = _weights(plain.cell)
    with dtype_policy("float64"):
        for weight, value in zip(stateful.cell.trainable_variables, weights, strict=True):
            weight.assign(value)
    expected = _run(plain)
    for _ in range(2):
        found = _run(stateful)
        np.testing.assert_allclose(found.outputs[0], expected.outputs[0], **EXACT)
        for one, other in zip(found.weight_gradients.values(), expected.weight_gradients.values(), strict=True):
            assert np.any(other)
            np.testing.assert_allclose(one, other, **EXACT)
        stateful.reset_state()


@pytest.mark.skipif(BACKEND == "jax", reason="on JAX, Keras carries states of stateful layers only outside functions")
def test_stateful_layer_trains_its_first_state():
    model = keras.Sequential([keras.Input(batch_shape=(4, 4, 3)), layers.NormalizedLSTM(UNITS, stateful=True)])
    model.compile(keras.optimizers.SGD(0.5), loss="mse")
    before = to_numpy(model.layers[0].cell.initial_state)
    model.fit(X.astype("float32"), np.ones((4, UNITS)), batch_size=4, shuffle=False, verbose=0)
    assert np.all(to_numpy(model.layers[0].cell.initial_state) != before)


def test_an_empty_row_has_not_started():
    """It takes the trained state at its first word."""
    layer = _layer(stateful=True, return_state=True)
    mask = np.array([[1, 1], [0, 0], [0, 0], [1, 0]], bool)
    with dtype_policy("float64"):
        layer(X[:, :2], mask=mask)
        layer.cell.initial_state.assign([0.7, -0.2])
        found = to_numpy(layer(X[:, 2:])[0])
        layer.reset_state()
        fresh = to_numpy(layer(X[:, 2:])[0])
    np.testing.assert_allclose(found[1:3], fresh[1:3], **EXACT)
    assert np.all(np.abs(found[[0, 3]] - fresh[[0, 3]]) > 1e-6)


def test_first_state_of_a_cell_needs_its_weights():
    with pytest.raises(ValueError, match=r"Build .* first: its trained initial state"):
        layers.NormalizedLSTMCell(2).get_initial_state(3)


def test_dropout_is_the_same_for_all_words():
    """A feature of a sentence is dropped at all words or at none."""
    layer = layers.NormalizedLSTM(UNITS, dropout=0.5, seed=3)
    layer.build((None, None, 8))
    x = np.random.default_rng(0).normal(size=(4, 5, 8)).astype("float32")
    dx = evaluate(layer, x, training=True).input_gradient
    dropped = np.all(dx == 0, axis=1)
    assert 0 < np.mean(dropped) < 1
    assert np.all((dx == 0) == dropped[:, None])


def test_recurrent_dropout_acts_only_on_products():
    """With everything but the input dropped, h no longer enters, but cells carry over."""
    layer = _layer(recurrent_dropout=1 - 1e-9, seed=0)
    with dtype_policy("float64"):
        W, U, b, h0 = _weights(layer.cell)
        found = to_numpy(layer(X, training=True))
        _, expected, _ = normalized_lstm(X, np.ones_like(MASK), W, 0 * U, b, h0)
    np.testing.assert_allclose(found, expected, **EXACT)


def test_arguments_reach_the_cell():
    layer = layers.NormalizedLSTM(2, kernel_regularizer="l2", initial_state_initializer="ones", trainable=False)
    layer.build((None, None, 3))
    assert isinstance(layer.cell.kernel_regularizer, keras.regularizers.L2)
    np.testing.assert_array_equal(to_numpy(layer.cell.initial_state), [1, 1])
    assert layer.trainable_variables == []


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"units": 0}, "`units` must be an integer of at least 1, but got 0"),
        ({"units": 2.5}, "`units` must be an integer of at least 1, but got 2.5"),
        ({"units": True}, "`units` must be an integer of at least 1, but got True"),
        ({"units": 2, "dropout": "x"}, r"`dropout` must be in \[0, 1\), but got 'x'"),
        ({"units": 2, "dropout": 1.0}, r"`dropout` must be in \[0, 1\), but got 1.0"),
        ({"units": 2, "recurrent_dropout": -0.1}, r"`recurrent_dropout` must be in \[0, 1\), but got -0.1"),
    ],
)
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        layers.NormalizedLSTM(**kwargs)


def test_input_and_mask_must_match():
    with pytest.raises(ValueError, match="expected ndim=3"):
        layers.NormalizedLSTM(2)(np.zeros((2, 3), "float32"))
    with pytest.raises(ValueError, match=r"mask of shape \(batch, time\)"):
        layers.NormalizedLSTM(2)(np.zeros((2, 3, 4), "float32"), mask=np.ones((2, 3, 1), bool))
