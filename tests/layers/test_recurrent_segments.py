"""A recurrent layer with `segment_length` has the values and gradients of the layer without it."""

import keras
import numpy as np
import pytest

from keras_slstm import layers
from tests.backend import BACKEND, MODES, dtype_policy, evaluate, to_numpy

TIME, FEATURES = 11, 3
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(4, TIME, FEATURES))
WORDS = np.arange(TIME)
MASKS = {
    "no mask": None,
    "right": np.array([[11], [3], [7], [0]]) > WORDS,
    "left": np.array([[0], [8], [5], [11]]) <= WORDS,
    "both sides": (np.array([[1], [0], [5], [4]]) <= WORDS) & (np.array([[10], [1], [6], [8]]) > WORDS),
    "anywhere": RANDOM.random((4, TIME)) < 0.5,
}
DROPOUT = {"dropout": 0.4, "recurrent_dropout": 0.3, "seed": 3}


def lstm(segment_length, **options):
    return layers.CASLSTM(5, num_layers=1, segment_length=segment_length, **options)


def cas_lstm(segment_length, **options):
    return layers.CASLSTM(5, num_layers=3, lam="trainable", segment_length=segment_length, **options)


def normalized_lstm(segment_length, **options):
    return layers.NormalizedLSTM(5, segment_length=segment_length, **options)


def min_gru(segment_length, **options):
    return layers.MinGRU(5, segment_length=segment_length, **options)


def built(make, segment_length, batch=None, **options):
    with dtype_policy("float64"):
        layer = make(segment_length, **options)
        layer.build((batch, None, FEATURES))
    random = np.random.default_rng(1)
    for weight in layer.trainable_variables:
        weight.assign(random.normal(scale=0.5, size=weight.shape))
    return layer


def assert_same(found, expected, atol=1e-12):
    assert any(np.any(gradient) for gradient in expected.weight_gradients.values())
    close = {"rtol": 0, "atol": atol}
    for one, other in zip(found.outputs, expected.outputs, strict=True):
        np.testing.assert_allclose(one, other, **close)
    np.testing.assert_allclose(found.input_gradient, expected.input_gradient, **close)
    for one, other in zip(found.weight_gradients.values(), expected.weight_gradients.values(), strict=True):
        np.testing.assert_allclose(one, other, **close)


OPTIONS = [
    (cas_lstm, "both sides", 3, {"return_sequences": True, "return_state": True}),
    (cas_lstm, "no mask", 4, {"return_sequences": True}),
    (cas_lstm, "anywhere", 1, {"go_backwards": True, "return_sequences": True, **DROPOUT, "layer_dropout": 0.5}),
    (lstm, "right", 11, {}),
    (normalized_lstm, "left", 4, {"return_state": True, **DROPOUT}),
    (normalized_lstm, "right", 5, {"return_sequences": True, "go_backwards": True}),
    (min_gru, "both sides", 4, {"return_sequences": True, "dropout": 0.5, "seed": 3}),
]


@pytest.mark.short_run("torch")
@pytest.mark.parametrize(
    ("make", "mask", "segment_length", "options"), OPTIONS, ids=lambda x: getattr(x, "__name__", str(x))
)
def test_is_the_pass_over_the_whole_text(make, mask, segment_length, options):
    with dtype_policy("float64"):
        both = [built(make, length, **options) for length in (segment_length, None)]
        found, expected = (evaluate(layer, X, MASKS[mask], training=True) for layer in both)
    assert_same(found, expected)
    if "seed" in options:  # they have moved on in the same way
        one, other = (to_numpy(layer.seed_generator.state) for layer in both)
        np.testing.assert_array_equal(one, other)


@pytest.mark.short_run("tensorflow")
@pytest.mark.parametrize("mode", [pytest.param(m, marks=pytest.mark.short_run if m == "xla" else ()) for m in MODES])
def test_compiled_for_any_length(mode):
    with dtype_policy("float64"):
        both = [built(cas_lstm, length, return_sequences=True, **DROPOUT) for length in (3, None)]
        found, expected = (evaluate(layer, X, MASKS["both sides"], mode, training=True) for layer in both)
    assert_same(found, expected)


@pytest.mark.short_run
def test_is_the_lstm_of_keras():
    """A CAS-LSTM of one layer with the weights of `keras.layers.LSTM`, which runs over the whole text."""
    with dtype_policy("float64"):
        layer = built(lstm, 4, return_sequences=True)
        of_keras = keras.layers.LSTM(5, return_sequences=True)
        of_keras.build(X.shape)
        of_keras.set_weights([to_numpy(weight) for weight in layer.trainable_variables])
        found, expected = evaluate(layer, X), evaluate(of_keras, X)
    assert_same(found, expected, 1e-6 if BACKEND != "torch" else 1e-12)


@pytest.mark.skipif(BACKEND == "jax", reason="on JAX, Keras carries states of stateful layers only outside functions")
@pytest.mark.short_run("torch")
@pytest.mark.parametrize("make", [cas_lstm, normalized_lstm])
def test_stateful_layers_carry_their_states(make):
    """The words that are computed again start from the states before the call, which the call has overwritten."""
    both = [stateful(make, length) for length in (3, None)]
    with dtype_policy("float64"):
        for _ in range(2):
            assert_same(*(evaluate(layer, X, MASKS["both sides"]) for layer in both))


def stateful(make, segment_length):
    layer = built(make, segment_length, batch=len(X), stateful=True)
    for state in layer.states:
        state.assign(np.random.default_rng(2).normal(size=state.shape))
    return layer


@pytest.mark.ci_run("torch")
@pytest.mark.short_run("torch")
def test_random_lengths_masks_and_segments():
    random = np.random.default_rng(2)
    with dtype_policy("float64"):
        for _ in range(20):
            make = (lstm, cas_lstm, normalized_lstm)[random.integers(3)]
            time, segment_length = random.integers(1, 40), int(random.integers(1, 20))
            x, mask = random.normal(size=(3, time, FEATURES)), random.random((3, time)) < random.random()
            flags = {name: bool(random.integers(2)) for name in ("return_sequences", "return_state", "go_backwards")}
            both = [built(make, length, **flags) for length in (segment_length, None)]
            assert_same(*(evaluate(layer, x, mask) for layer in both))


@pytest.mark.short_run("torch")
def test_draws_as_the_whole_pass_when_computed_again():
    """In `keras.RematScope`, the segments draw from the replay of the scope."""
    plain = built(cas_lstm, None, **DROPOUT)
    with keras.RematScope(mode="full"):
        again = built(cas_lstm, 3, **DROPOUT)
    with dtype_policy("float64"):
        for _ in range(2):
            found, expected = (evaluate(layer, X, MASKS["left"], training=True) for layer in (again, plain))
            assert_same(found, expected)


@pytest.mark.short_run("torch")
@pytest.mark.parametrize("value", [0, 2.5, "all"])
def test_refuses_other_segment_lengths(value):
    with pytest.raises(ValueError, match=r"`segment_length` must be .*but got"):
        layers.CASLSTM(5, segment_length=value)
