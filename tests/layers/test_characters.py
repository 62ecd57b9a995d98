from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import layers
from tests.backend import EXACT, EXACT_GRADIENT, default_cotangent, dtype_policy, evaluate, to_numpy
from tests.layer_case import randomize
from tests.oracles.characters import char_bilstm, char_cnn
from tests.oracles.differences import central_differences

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

BATCH, TIME, CHARACTERS, FEATURES = 2, 3, 4, 2
X = np.random.default_rng(0).normal(size=(BATCH, TIME, CHARACTERS, FEATURES))
# All kinds of words: full, padded on the right or left, with a gap, with one character, and empty.
MASK = np.array([[[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]], [[1, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]]], bool)


def _made(layer_class, *args, **kwargs):
    """Return a float64 layer and its weights."""
    with dtype_policy("float64"):
        layer = layer_class(*args, **kwargs)
        layer.build(X.shape)
        randomize(layer)
        return layer, [keras.ops.convert_to_numpy(w) for w in layer.weights]


def _run(layer, mask=MASK):
    with dtype_policy("float64"):
        return evaluate(layer, X, mask)


def _bilstm(x, mask, *weights):
    return char_bilstm(x, mask, weights[:3], weights[3:])


CASES = {
    "cnn": (layers.CharCNN, {"filters": 3}, lambda x, mask, W, b: char_cnn(x, mask, W, b, 3)),
    "even": (layers.CharCNN, {"filters": 3, "kernel_size": 2}, lambda x, mask, W, b: char_cnn(x, mask, W, b, 2)),
    "wide": (layers.CharCNN, {"filters": 3, "kernel_size": 7}, lambda x, mask, W, b: char_cnn(x, mask, W, b, 7)),
    "bilstm": (layers.CharBiLSTM, {"units": 2}, _bilstm),
}


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_of_the_explicit_loop(name):
    layer_class, arguments, oracle = CASES[name]
    layer, weights = _made(layer_class, **arguments)
    for mask in (MASK, None):
        expected = oracle(X, np.ones(X.shape[:3], bool) if mask is None else mask, *weights)
        np.testing.assert_allclose(_run(layer, mask).outputs[0], expected, **EXACT)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_finite_differences(name):
    layer_class, arguments, oracle = CASES[name]
    layer, weights = _made(layer_class, **arguments)
    found = _run(layer)
    values = [X, *weights]
    cotangent = default_cotangent(found.outputs[0].shape)
    for position, gradient in enumerate([found.input_gradient, *found.weight_gradients.values()]):

        def loss(value, k=position):
            x, *others = [*values[:k], value, *values[k + 1 :]]
            return np.sum(oracle(x, MASK, *others) * cotangent)

        np.testing.assert_allclose(gradient, central_differences(loss, values[position]), **EXACT_GRADIENT)
    assert not np.any(found.input_gradient[~MASK])


@pytest.mark.parametrize("name", CASES)
def test_nan_in_masked_characters_has_no_effect(name):
    layer_class, arguments, _ = CASES[name]
    layer, _ = _made(layer_class, **arguments)
    x = np.where(MASK[..., None], X, np.nan)
    with dtype_policy("float64"):
        found, expected = evaluate(layer, x, MASK), evaluate(layer, X, MASK)
    np.testing.assert_array_equal(found.outputs[0], expected.outputs[0])
    np.testing.assert_array_equal(found.input_gradient, expected.input_gradient)
    for path, gradient in found.weight_gradients.items():
        np.testing.assert_array_equal(gradient, expected.weight_gradients[path])


@pytest.mark.parametrize("make", [lambda: layers.CharCNN(4), lambda: layers.CharBiLSTM(2)])
def test_embedding_passes_the_mask_on_and_empty_words_are_masked(make):
    ids = keras.Input((None, None), dtype="int32")
    vectors = keras.layers.Embedding(9, 3, mask_zero=True)(ids)
    words = make()(vectors)
    assert words.shape == (None, None, 4)
    counted = layers.MaskedGlobalAveragePooling1D()(words)
    model = keras.Model(ids, [words, counted])
    both = np.array([[[1, 2, 0], [3, 0, 0], [0, 0, 0]], [[4, 5, 6], [0, 0, 0], [0, 0, 0]]])
    found, mean = (to_numpy(y) for y in model(keras.ops.convert_to_tensor(both)))
    assert np.any(found[0, 1])
    assert not np.any(found[0, 2])
    np.testing.assert_allclose(mean[0], found[0, :2].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(mean[1], found[1, 0], atol=1e-6)
    # Neither the padding of a word nor the words around it change its vector.
    alone = to_numpy(model(keras.ops.convert_to_tensor(both[:1, :1, :2]))[0])
    np.testing.assert_allclose(alone[0, 0], found[0, 0], atol=1e-6)


@pytest.mark.parametrize("layer_class", [layers.CharCNN, layers.CharBiLSTM])
def test_input_and_mask_must_match(layer_class):
    x = np.zeros((2, 3, 4, 5), "float32")
    with pytest.raises(ValueError, match="expected ndim=4"):
        layer_class()(x[0])
    for shape in ((2, 3), (2, 3, 3), (2, 3, 4, 5)):
        with pytest.raises(ValueError, match=r"mask of shape \(batch, time, characters\) .* but got a mask of shape"):
            layer_class()(x, mask=np.ones(shape, bool))
    with pytest.raises(ValueError, match="needs to know the number of features"):
        layer_class().build((None, None, None, None))


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", True])
def test_bad_sizes(value):
    for make, name in [
        (lambda: layers.CharCNN(value), "filters"),
        (lambda: layers.CharCNN(kernel_size=value), "kernel_size"),
        (lambda: layers.CharBiLSTM(value), "units"),
    ]:
        with pytest.raises(ValueError, match=rf"`{name}` must be an integer of at least 1, but got"):
            make()


@pytest.mark.parametrize("masked", [False, True])
def test_the_mask_of_concatenated_vectors(masked):
    """`Concatenate` combines masks by *any*, so word vectors without a mask lose it, and the user passes it."""
    words, characters = keras.Input((None,), dtype="int32"), keras.Input((None, None), dtype="int32")
    of_characters = layers.CharBiLSTM(2)(keras.layers.Embedding(9, 3, mask_zero=True)(characters))
    joined = keras.layers.Concatenate()([keras.layers.Embedding(9, 3)(words), of_characters])
    mask = keras.ops.not_equal(words, 0) if masked else None
    model = keras.Model([words, characters], layers.MaskedGlobalAveragePooling1D()(joined, mask=mask))
    bare, padded = np.array([[1, 2]]), np.array([[1, 2, 0]])
    spelled = np.array([[[1, 2], [3, 0], [0, 0]]])
    one, other = to_numpy(model([bare, spelled[:, :2]])), to_numpy(model([padded, spelled]))
    assert bool(np.abs(one - other).max() < 1e-6) == masked
