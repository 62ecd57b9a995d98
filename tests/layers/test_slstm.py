"""`SLSTM` against the explicit loops of `tests/oracles/slstm.py`, in float64."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import layers
from keras_slstm.ops import slstm as equation
from tests.backend import default_cotangent, dtype_policy, evaluate, to_numpy
from tests.layer_case import randomize
from tests.oracles.differences import central_differences
from tests.oracles.slstm import slstm

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

E, D = 3, 2
X = np.random.default_rng(0).normal(size=(5, 5, E))
MASK = np.array([[1] * 5, [0, 1, 1, 1, 0], [1, 0, 1, 1, 0], [0, 0, 0, 0, 1], [0] * 5], bool)

VARIANTS = [
    {},
    {"boundary_words": False},
    {"initial": "zeros"},
    {"initial": "projection"},
    {"window": 0},
    {"window": 2},
    {"window": 4},  # wider than a sentence
    {"sentence_nodes": 0},
    {"sentence_nodes": 0, "initial": "projection", "boundary_words": False},
    {"sentence_nodes": 2},
    {"sentence_nodes": 3, "window": 2, "initial": "projection"},
]


def _id(variant):
    return "-".join(f"{name}={value}" for name, value in variant.items()) or "default"


def _layer(steps=3, return_sequences=True, **kwargs):
    with dtype_policy("float64"):
        layer = layers.SLSTM(D, steps=steps, return_sequences=return_sequences, return_state=True, **kwargs)
        layer.build(X.shape)
        randomize(layer)
    return layer


def _weights(layer):
    return {weight.name: to_numpy(weight) for weight in layer.weights if weight.dtype == "float64"}


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
@pytest.mark.parametrize("variant", VARIANTS, ids=_id)
def test_layer_is_the_explicit_loop(variant, mask):
    layer = _layer(**variant)
    with dtype_policy("float64"):
        found = evaluate(layer, X, mask, mode="eager")
        expected = slstm(_weights(layer), X, mask, units=D, steps=3, **variant)
    for one, other in zip(found.outputs, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("variant", VARIANTS, ids=_id)
def test_sentence_vector_alone_equals_the_explicit_loop(variant, steps):
    """Without the words, their last update is skipped."""
    layer = _layer(steps, return_sequences=False, **variant)
    with dtype_policy("float64"):
        found = evaluate(layer, X, MASK, mode="eager")
        _, *expected = slstm(_weights(layer), X, MASK, units=D, steps=steps, **variant)
    for one, other in zip(found.outputs, [expected[0], *expected], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_sentence_vector_alone_has_the_same_dropout():
    with_words = _layer(recurrent_dropout=0.5, seed=0)
    alone = _layer(return_sequences=False, recurrent_dropout=0.5, seed=0)
    with dtype_policy("float64"):
        _, *expected = map(to_numpy, with_words(X, mask=MASK, training=True))
        found = list(map(to_numpy, alone(X, mask=MASK, training=True)))
        undropped = to_numpy(alone(X, mask=MASK)[1])
    for one, other in zip(found, [expected[0], *expected], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    assert np.abs(found[0] - undropped).max() > 1e-3


@pytest.mark.parametrize("return_sequences", [True, False], ids=["words", "sentence"])
@pytest.mark.parametrize("variant", [{}, {"sentence_nodes": 2, "window": 2, "initial": "projection"}], ids=_id)
@pytest.mark.short_run("torch")
def test_gradients_are_finite_differences(variant, return_sequences):
    layer = _layer(2, return_sequences, **variant)
    with dtype_policy("float64"):
        found = evaluate(layer, X, MASK, mode="eager")
        weights = _weights(layer)
    cotangents = [default_cotangent(y.shape) for y in found.outputs]

    def loss(x, weights):
        outputs = slstm(weights, x, MASK, units=D, steps=2, **variant)
        outputs = outputs if return_sequences else (outputs[1], *outputs[1:])
        return sum(np.sum(y * dy) for y, dy in zip(outputs, cotangents, strict=True))

    expected = central_differences(lambda x: loss(x, weights), X)
    np.testing.assert_allclose(found.input_gradient, expected, atol=1e-8)
    for path, gradient in found.weight_gradients.items():
        name = path.rpartition("/")[2]
        expected = central_differences(lambda value, name=name: loss(X, {**weights, name: value}), weights[name])
        np.testing.assert_allclose(gradient, expected, atol=1e-8, err_msg=name)


def test_float32_is_within_1e_5():
    """At a realistic size and number of steps."""
    layer = layers.SLSTM(32, return_sequences=True, return_state=True)
    x = np.random.default_rng(0).normal(size=(2, 20, 16)).astype("float32")
    mask = np.array([[True] * 20, [False] * 4 + [True] * 12 + [False] * 4])
    found = evaluate(layer, x, mask, mode="eager").outputs
    weights = {w.name: to_numpy(w) for w in layer.weights}
    for one, other in zip(found, slstm(weights, x, mask, units=32, steps=9), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_number_of_parameters_is_that_of_the_equations():
    e, d = 5, 3
    layer = layers.SLSTM(d)
    layer.build((None, None, e))
    word, node, boundary, first = 7 * (4 * d * d + e * d + d), 3 * (2 * d * d + d), 2 * e, d
    assert layer.count_params() == word + node + boundary + first


def test_each_node_adds_the_same_number_of_parameters():
    """Table 2 of the paper: one and two nodes add 1,552K and 3,105K."""
    sizes = []
    for nodes in (1, 2, 3):
        layer = layers.SLSTM(3, sentence_nodes=nodes)
        layer.build((None, None, 5))
        sizes.append(layer.count_params())
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] > 0


def test_steps_widen_the_context():
    """Without a sentence node, a word reads `window` more neighbours on each side with every step."""
    for steps, window in ((1, 1), (2, 1), (2, 2)):
        layer = layers.SLSTM(
            D,
            steps=steps,
            window=window,
            sentence_nodes=0,
            boundary_words=False,
            initial="projection",
            return_sequences=True,
        )
        layer.build((None, None, E))
        randomize(layer)
        cotangent = np.zeros((1, 11, D))
        cotangent[0, 5] = 1
        x = np.random.default_rng(0).normal(size=(1, 11, E)).astype("float32")
        seen = np.any(evaluate(layer, x, cotangents=[cotangent]).input_gradient[0], axis=-1)
        assert seen.tolist() == [abs(i - 5) <= steps * window for i in range(11)]


def test_gates_are_normalised():
    """With o = u = 1 and empty neighbouring cells, c is the softmax share of the input gate among i, l, r and f."""
    layer = layers.SLSTM(1, steps=1, sentence_nodes=0, boundary_words=False, initial="zeros", return_sequences=True)
    layer.build((None, None, 1))
    for weight in layer.trainable_weights:
        weight.assign(np.zeros(weight.shape))
    # gates i, l, r, f, o, u: all pre-activations 0, but o = 1 and u = 1
    layer.bias.assign([0.0, 0.0, 0.0, 0.0, 50.0, 50.0])
    found = to_numpy(layer(np.zeros((1, 1, 1), "float32")))
    np.testing.assert_allclose(found, np.tanh(0.25), rtol=1e-6)


@pytest.mark.parametrize(("dropped", "kept"), [({"dropout": 0.5}, "recurrent"), ({"recurrent_dropout": 0.5}, "input")])
def test_dropout_keeps_the_mean(dropped, kept):
    """Inverted dropout scales the kept values up, so that sums stay the same on average."""
    layer = layers.SLSTM(64, steps=3, seed=1, initial_state_initializer="ones", **dropped)
    x = np.ones((16, 8, 32), "float32")
    layer.build(x.shape)
    found, expected = to_numpy(layer(x, training=True)), to_numpy(layer(x))
    assert np.max(np.abs(found - expected)) > 1e-3
    np.testing.assert_allclose(found.mean(), expected.mean(), atol=0.02)


def test_regularisers_and_constraints_reach_the_weights():
    layer = layers.SLSTM(3, kernel_regularizer="l2", recurrent_constraint="non_neg", bias_constraint="unit_norm")
    layer.build((None, None, 2))
    assert len(layer.losses) == 1
    assert layer.node_kernel.constraint is not None
    assert layer.kernel.constraint is None
    assert layer.node_bias.constraint is not None


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"units": 0}, "`units` must be an integer of at least 1, but got 0"),
        ({"units": 2.0}, "`units` must be an integer of at least 1, but got 2.0"),
        ({"units": 2, "steps": 0}, "`steps` must be an integer of at least 1, but got 0"),
        ({"units": 2, "window": -1}, "`window` must be an integer of at least 0, but got -1"),
        (
            {"units": 2, "sentence_nodes": True},
            "`sentence_nodes` must be an integer of at least 0, but got True",
        ),
        ({"units": 2, "initial": "random"}, "`initial` must be .* but got 'random'"),
        ({"units": 2, "boundary_words": "no"}, "`boundary_words` must be True or False, but got 'no'"),
        ({"units": 2, "return_sequences": None}, "`return_sequences` must be True or False, but got None"),
        ({"units": 2, "dropout": False}, r"`dropout` must be in \[0, 1\), but got False"),
        ({"units": 2, "dropout": 1}, r"`dropout` must be in \[0, 1\), but got 1"),
        ({"units": 2, "recurrent_dropout": "a"}, r"`recurrent_dropout` must be in \[0, 1\), but got 'a'"),
    ],
)
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        layers.SLSTM(**kwargs)


def test_input_and_mask_must_match():
    with pytest.raises(ValueError, match="expected ndim=3"):
        layers.SLSTM(2)(np.zeros((2, 3), "float32"))
    with pytest.raises(ValueError, match=r"mask of shape \(batch, time\)"):
        layers.SLSTM(2)(np.zeros((2, 3, 4), "float32"), mask=np.ones((2, 3, 1), bool))


def test_memory_is_freed():
    """The hand-written gradient must not keep its own result alive."""
    import gc
    import weakref

    if keras.backend.backend() != "torch":
        pytest.skip("a cycle through C++ that only PyTorch has")
    from keras_slstm.ops.kernels.gated_mean import gated_mean

    a = [keras.ops.zeros(3).requires_grad_() for _ in range(4)]
    y = gated_mean(a[:2], a[2:])
    alive = weakref.ref(y)
    del y
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("return_sequences", [False, True])
def test_recurrent_dropout_acts_on_the_sentence_node(return_sequences):
    """g enters the products with its own dropout mask, so h alone cannot explain the outputs."""
    layer = _layer(4, return_sequences, recurrent_dropout=0.5, sentence_nodes=2, boundary_words=False)
    masks = []

    def draw(x, places=None):
        shape = (len(x), x.shape[1] if places is None else places, D)
        masks.append(np.random.default_rng(len(masks)).integers(0, 2, size=shape) * 2.0)
        return keras.ops.convert_to_tensor(masks[-1], dtype="float64")

    layer._dropout_mask = draw
    with dtype_policy("float64"):
        found = [to_numpy(y) for y in layer(X, training=True)]
        assert [mask.shape for mask in masks] == [(5, 5, D), (5, 2, D)]
        weights, h0 = layer.transition_weights(), keras.ops.convert_to_tensor(layer.initial_state)
        h_mask, g_mask = (keras.ops.convert_to_tensor(mask, dtype="float64") for mask in masks)
        x = keras.ops.convert_to_tensor(X)
        expected, without = (
            [to_numpy(y) for y in equation.slstm(weights, x, None, h0, 4, h_mask, mask)] for mask in (g_mask, None)
        )
    np.testing.assert_allclose(found[0], expected[0] if return_sequences else expected[1][:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1][:, 0], rtol=0, atol=1e-12)
    assert np.abs(found[1] - without[1][:, 0]).max() > 1e-3


def test_long_sentences_in_float16():
    """The sums over 30,000 words exceed the range of float16 before the division."""
    x = np.random.default_rng(0).normal(size=(1, 30_000, E)).astype("float32")
    outputs = []
    for policy in ("float32", "mixed_float16"):
        with dtype_policy(policy):
            layer = layers.SLSTM(D, steps=2)
            layer.build(x.shape)
            randomize(layer)
            layer.node_bias.assign(np.full(layer.node_bias.shape, 9.0))  # open gates: each adds e to the sum
            outputs.append(to_numpy(layer(x)).astype("float32"))
    assert np.abs(outputs[0]).min() > 1e-4
    np.testing.assert_allclose(outputs[1], outputs[0], rtol=0.02, atol=1e-4)
