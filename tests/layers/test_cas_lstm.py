"""`CASLSTM` and its cell against the explicit loops of `tests/oracles/cas_lstm.py`, and against Keras' LSTM."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import layers
from tests.backend import BACKEND, EXACT, EXACT_GRADIENT, MODES, default_cotangent, dtype_policy, evaluate, to_numpy
from tests.layer_case import randomize
from tests.oracles.cas_lstm import cas_lstm
from tests.oracles.differences import central_differences

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

E, D = 3, 2
X = np.random.default_rng(0).normal(size=(5, 4, E))
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 1], [0, 0, 0, 0]], bool)

VARIANTS = [
    {},
    {"num_layers": 1},
    {"num_layers": 3},
    {"lam": 0.25},
    {"lam": 0},
    {"lam": 1},
    {"lam": None},
    {"lam": "trainable"},
    {"num_layers": 3, "lam": "trainable"},
    {"peephole": True},
    {"num_layers": 3, "peephole": True},
]


def _id(variant):
    return "-".join(f"{name}={value}" for name, value in variant.items()) or "default"


def _layer(**kwargs):
    with dtype_policy("float64"):
        layer = layers.CASLSTM(D, **kwargs)
        layer.build(X.shape)
        randomize(layer)
    return layer


def _weights(layer):
    return {weight.name: to_numpy(weight) for weight in layer.trainable_variables}


def _run(layer, mask=MASK, x=X, **kwargs):
    with dtype_policy("float64"):
        # In eager mode, JAX would compile each operation separately.
        return evaluate(layer, x, mask, mode=MODES[-1] if BACKEND == "jax" else "eager", **kwargs)


def _oracle(layer, mask=MASK, x=X, weights=None, **kwargs):
    with dtype_policy("float64"):
        weights = weights or _weights(layer)
    variant = {"units": D, "num_layers": layer.num_layers, "lam": layer.lam, "peephole": layer.peephole}
    return cas_lstm(weights, x, mask, backwards=layer.go_backwards, **variant, **kwargs)


def _states(count, seed=1):
    return [0.5 * np.random.default_rng(seed + k).normal(size=(len(X), D)) for k in range(count)]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
@pytest.mark.parametrize("variant", VARIANTS, ids=_id)
def test_layer_is_the_explicit_loop(variant, mask, backwards):
    layer = _layer(return_sequences=True, return_state=True, go_backwards=backwards, **variant)
    found, *states = _run(layer, mask).outputs
    expected, last, _ = _oracle(layer, mask)
    np.testing.assert_allclose(found[:, ::-1] if backwards else found, expected, **EXACT)
    for one, other in zip(states, last, strict=True):
        np.testing.assert_allclose(one, other, **EXACT)


def test_last_output_is_the_state_after_the_last_real_word():
    layer = _layer()
    _, last, _ = _oracle(layer)
    np.testing.assert_allclose(_run(layer).outputs[0], last[-2], **EXACT)


@pytest.mark.parametrize(
    "variant", [{"num_layers": 3}, {"lam": "trainable"}, {"lam": None}, {"peephole": True}], ids=_id
)
def test_gradients_are_finite_differences(variant):
    """For every weight, the input and the initial states, through every output."""
    layer = _layer(return_sequences=True, return_state=True, **variant)
    first = _states(2 * layer.num_layers)
    found = _run(layer, initial_state=first)
    with dtype_policy("float64"):
        weights = _weights(layer)

    def loss(x=X, states=first, **changed):
        hs, last, _ = _oracle(layer, x=x, weights={**weights, **changed}, states=states)
        return sum(np.sum(y * default_cotangent(y.shape)) for y in [hs, *last])

    # An empty row keeps its initial states, but has no output.
    np.testing.assert_allclose(found.input_gradient, central_differences(lambda x: loss(x=x), X), **EXACT_GRADIENT)
    assert len(found.weight_gradients) == len(weights)
    for path, gradient in found.weight_gradients.items():
        name = path.rpartition("/")[2]
        expected = central_differences(lambda value, name=name: loss(**{name: value}), weights[name])
        np.testing.assert_allclose(gradient, expected, **EXACT_GRADIENT, err_msg=name)


@pytest.mark.parametrize("variant", [{}, {"peephole": True}], ids=_id)
def test_initial_state_has_its_gradient(variant):
    """The states depend on the input here, so its gradient also flows through them."""

    class FromInput(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.layer = layers.CASLSTM(D, **variant)

        def build(self, input_shape):
            self.layer.build(input_shape)
            self.built = True

        def call(self, x, mask=None):
            states = [x[:, 0, k : k + D] for k in (0, 1, 0, 1)]
            return self.layer(x, mask=mask, initial_state=states)

    with dtype_policy("float64"):
        outer = FromInput()
        outer.build(X.shape)
        randomize(outer)
    found = _run(outer, MASK[:4], X[:4])

    def loss(x):
        states = [x[:, 0, k : k + D] for k in (0, 1, 0, 1)]
        _, last, _ = _oracle(outer.layer, MASK[:4], x=x, states=states)
        return np.sum(last[-2] * default_cotangent(last[-2].shape))

    np.testing.assert_allclose(found.input_gradient, central_differences(loss, X[:4]), **EXACT_GRADIENT)


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_without_lam_it_is_a_stack_of_keras_lstm(lam):
    """Layer 1 and the first four gates have the weight layout of `keras.layers.LSTM`."""
    with dtype_policy("float64"):
        stack = [keras.layers.LSTM(D, return_sequences=True) for _ in range(3)]
        x, layer = X, layers.CASLSTM(D, num_layers=3, lam=lam, return_sequences=True)
        layer.build(X.shape)
        for index, lstm in enumerate(stack):
            x = lstm(x)
            for weight in lstm.trainable_variables:
                weight.assign(np.random.default_rng(index).normal(size=weight.shape) * 0.5)
            columns = slice(None, 4 * D)  # g, which has no effect, comes after them
            for own, given in zip(
                (layer.cell.kernels, layer.cell.recurrent_kernels, layer.cell.biases), lstm.get_weights(), strict=True
            ):
                value = to_numpy(own[index]).copy()
                value[..., columns] = given
                own[index].assign(value)
        x = X
        for lstm in stack:
            x = lstm(x)
        found, expected = to_numpy(layer(X)), to_numpy(x)
    if lam == 0:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 if BACKEND != "tensorflow" else 1e-12)
    else:
        assert np.max(np.abs(found - expected)) > 1e-2


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("variant", [{}, {"num_layers": 3, "lam": "trainable"}, {"peephole": True}], ids=_id)
def test_cell_in_keras_loops_is_the_layer(variant, wrapped):
    with dtype_policy("float64"):
        loop = keras.layers.RNN(layers.CASLSTMCell(D, **variant), return_sequences=True, return_state=True)
        layer = layers.CASLSTM(D, return_sequences=True, return_state=True, **variant)
        pair = [keras.layers.Bidirectional(one) if wrapped else one for one in (loop, layer)]
        for one in pair:
            one.build(X.shape)
            randomize(one)
    first, second = (_run(one, mask=None) for one in pair)
    for a, b in zip(first.outputs, second.outputs, strict=True):
        np.testing.assert_allclose(a, b, **EXACT)
    np.testing.assert_allclose(first.input_gradient, second.input_gradient, **EXACT_GRADIENT)
    of_loop, of_layer = (list(one.weight_gradients.values()) for one in (first, second))
    for a, b in zip(of_loop, of_layer, strict=True):
        assert np.any(a)
        np.testing.assert_allclose(a, b, **EXACT_GRADIENT)


def test_cell_takes_flat_states():
    cell = layers.CASLSTMCell(D, num_layers=3)
    cell.build((None, E))
    x, states = X[:, 0].astype("float32"), [state.astype("float32") for state in _states(6)]
    one, flat = cell(x, states)
    other, nested = cell(x, [states[k : k + 2] for k in (0, 2, 4)])
    assert (len(flat), [len(pair) for pair in nested]) == (6, [2, 2, 2])
    for a, b in zip([one, *flat], [other, *keras.tree.flatten(nested)], strict=True):
        np.testing.assert_array_equal(to_numpy(a), to_numpy(b))
    np.testing.assert_array_equal(to_numpy(one), to_numpy(flat[-2]))


def test_cell_in_keras_loop_respects_padding():
    """The last output is that of the top layer, not the first state that Keras' loop finds."""
    loop, layer = keras.layers.RNN(layers.CASLSTMCell(D)), layers.CASLSTM(D)
    for one in (loop, layer):
        one.build(X.shape)
        randomize(one)
    found, expected = (to_numpy(one(X.astype("float32"), mask=MASK)) for one in (loop, layer))
    np.testing.assert_allclose(found[:4], expected[:4], atol=1e-6)


def test_bidirectional_is_two_independent_stacks():
    with dtype_policy("float64"):
        both = keras.layers.Bidirectional(layers.CASLSTM(D, return_sequences=True))
        both.build(X.shape)
        randomize(both)
    found = _run(both).outputs[0]
    expected = [_oracle(layer)[0] for layer in (both.forward_layer, both.backward_layer)]
    np.testing.assert_allclose(found, np.concatenate(expected, axis=-1), **EXACT)


def test_float32_is_within_1e_5():
    """At a realistic size and length."""
    layer = layers.CASLSTM(32, num_layers=3, return_sequences=True, return_state=True)
    x = np.random.default_rng(0).normal(size=(2, 40, 16)).astype("float32")
    mask = np.array([[True] * 40, [False] * 4 + [True] * 30 + [False] * 6])
    hs, *states = evaluate(layer, x, mask, mode=MODES[-1]).outputs
    expected, last, _ = cas_lstm(_weights(layer), x, mask, units=32, num_layers=3)
    for one, other in zip([hs, *states], [expected, *last], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("variant", [{"num_layers": 3}, {"peephole": True}], ids=_id)
def test_vertical_gates_are_those_of_the_equations(variant, backwards):
    layer = _layer(go_backwards=backwards, **variant)
    states = _states(2 * layer.num_layers)
    for mask, given in ((None, None), (MASK, states)):
        with dtype_policy("float64"):
            found = layer.vertical_gates(X, initial_state=given, mask=mask)
            found = [[to_numpy(gate) for gate in pair] for pair in found]
        _, _, expected = _oracle(layer, mask, states=given)
        assert len(found) == layer.num_layers - 1
        for lower, (g, lower_o) in enumerate(found, start=1):
            if backwards:
                g, lower_o = g[:, ::-1], lower_o[:, ::-1]
            np.testing.assert_allclose(g, expected["g", lower + 1], **EXACT)
            np.testing.assert_allclose(lower_o, expected["o", lower], **EXACT)


def test_given_states_are_continued():
    """Reading a sentence in two parts equals reading it at once; an empty part changes no state."""
    layer = _layer(return_state=True)
    with dtype_policy("float64"):
        whole = [to_numpy(y) for y in layer(X)]
        _, *states = layer(X[:, :2])
        _, *states = layer(X[:, :2], initial_state=states, mask=np.zeros((5, 2), bool))
        parts = [to_numpy(y) for y in layer(X[:, 2:], initial_state=states)]
    np.testing.assert_allclose(parts, whole, **EXACT)


def test_implicit_mask_is_used_with_given_states():
    """The implicit mask, which Keras passes under another name in this case."""
    ids = np.array([[1, 2, 0], [0, 3, 0]])
    embed, layer = keras.layers.Embedding(4, 3, mask_zero=True), layers.CASLSTM(D, return_sequences=True)
    states = [np.full((2, D), 0.5, "float32")] * 4
    inputs, of_states = keras.Input((None,), dtype="int32"), [keras.Input((D,)) for _ in states]
    model = keras.Model([inputs, *of_states], layer(embed(inputs), initial_state=of_states))
    expected = to_numpy(layer(embed(ids), initial_state=states, mask=ids > 0))
    assert not expected[ids == 0].any()
    for found in (layer(embed(ids), initial_state=states), model([ids, *states])):
        np.testing.assert_allclose(to_numpy(found), expected, atol=1e-6)


def test_stateful_layer_continues_and_resets_to_zero():
    layer = layers.CASLSTM(D, stateful=True, return_sequences=True)
    x = X.astype("float32")
    layer.build(x.shape)
    randomize(layer)
    expected = to_numpy(layer(x))
    layer.reset_state()
    parts = [to_numpy(layer(part)) for part in (x[:, :1], x[:, 1:])]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), expected, atol=1e-6)
    assert np.max(np.abs(to_numpy(layer(x)) - expected)) > 1e-3
    layer.reset_state()
    np.testing.assert_allclose(to_numpy(layer(x)), expected, atol=1e-6)


def test_stateful_layer_trains():
    """On PyTorch, writing the new states must not overwrite values that the gradient needs."""
    model = keras.Sequential([keras.Input(batch_shape=(4, 3, E)), layers.CASLSTM(D, stateful=True)])
    model.compile(keras.optimizers.SGD(0.5), loss="mse")
    x = X[:4, :3].astype("float32")
    losses = model.fit(x, np.ones((4, D)), batch_size=4, epochs=5, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < 0.9 * losses[0]


def _dropped(layer, x):
    """Return which features of the input get no gradient."""
    return evaluate(layer, x, training=True).input_gradient == 0


def test_dropout_is_the_same_for_all_words():
    """A feature of a sentence is dropped at all words or at none."""
    layer = layers.CASLSTM(D, dropout=0.5, seed=3)
    layer.build((None, None, 8))
    zero = _dropped(layer, np.random.default_rng(0).normal(size=(4, 5, 8)).astype("float32"))
    dropped = np.all(zero, axis=1)
    assert 0 < np.mean(dropped) < 1
    assert np.all(zero == dropped[:, None])


@pytest.mark.parametrize("option", ["layer_dropout", "recurrent_dropout"])
def test_other_dropouts_act_only_on_products(option):
    """With everything dropped, h no longer enters the products, but cells are passed on. The input does not change."""
    layer = _layer(num_layers=3, seed=0, return_sequences=True, **{option: 1 - 1e-9})
    with dtype_policy("float64"):
        found = to_numpy(layer(X, training=True))
        weights = _weights(layer)
    for name in weights:
        recurrent = name.startswith("recurrent")
        if recurrent if option == "recurrent_dropout" else name in ("kernel_2", "kernel_3"):
            weights[name] = 0 * weights[name]
    expected, _, _ = _oracle(layer, None, weights=weights)
    np.testing.assert_allclose(found, expected, **EXACT)


@pytest.mark.parametrize("option", ["dropout", "layer_dropout", "recurrent_dropout"])
def test_gradient_uses_the_same_dropout_mask(option):
    """The gradient belongs to the same dropout factors, which the seed draws again."""

    def layer(*changed):
        layer = _layer(seed=5, **{option: 0.5})
        for variable, value in zip(layer.trainable_variables, changed):
            variable.assign(value)
        return layer

    def loss(x, *weights):
        with dtype_policy("float64"):
            y = to_numpy(layer(*weights)(x, training=True, mask=MASK))
        return np.sum(y * default_cotangent(y.shape))

    found = _run(layer(), training=True)
    gradients = [found.input_gradient, *found.weight_gradients.values()]
    values = [X, *_weights(layer()).values()]
    for position, gradient in enumerate(gradients):
        index = np.unravel_index(np.argmax(np.abs(gradient)), gradient.shape)
        one, other = ([value.copy() for value in values] for _ in range(2))
        one[position][index] += 1e-5
        other[position][index] -= 1e-5
        np.testing.assert_allclose(gradient[index], (loss(*one) - loss(*other)) / 2e-5, **EXACT_GRADIENT)


def test_memory_is_freed():
    """The hand-written gradient must not keep its own result alive."""
    import gc

    if BACKEND != "torch":
        pytest.skip("a cycle through C++ that only PyTorch has")
    import torch

    layer = layers.CASLSTM(D, return_sequences=True)

    def alive():
        layer(X.astype("float32"))
        gc.collect()
        return sum(isinstance(one, torch.Tensor) for one in gc.get_objects())

    alive()
    assert alive() == alive()
