"""`AttentionDecoder` against the explicit loops of `tests/oracles/attention_decoder.py`."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm import layers
from tests.backend import BACKEND, EXACT, EXACT_GRADIENT, MODES, default_cotangent, dtype_policy, gradients, to_numpy
from tests.layer_case import randomize
from tests.oracles.attention_decoder import attention_decoder
from tests.oracles.differences import central_differences

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

E, M, D, K = 3, 4, 2, 5
rng = np.random.default_rng(0)
X, MEMORY = rng.normal(size=(4, 3, E)), rng.normal(size=(4, 5, M))
MASK = np.array([[1, 1, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]], bool)
MEMORY_MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
STATES = [0.5 * rng.normal(size=(4, D)) for _ in range(4)]
MODE = MODES[-1] if BACKEND == "jax" else "eager"  # in eager mode, JAX would compile each operation separately


def make(units=K, **variant):
    with dtype_policy("float64"):
        layer = layers.AttentionDecoder(layers.CASLSTMCell(D, **variant), units)
        layer.build(X.shape, MEMORY.shape)
        randomize(layer)
    return layer


@pytest.mark.parametrize(
    ("variant", "mask", "memory_mask"),
    [
        ({"num_layers": 1}, None, None),
        ({"num_layers": 1}, None, MEMORY_MASK),
        ({"num_layers": 2, "lam": "trainable"}, MASK, MEMORY_MASK),
    ],
    ids=["whole", "masked memory", "masked"],
)
def test_layer_is_the_explicit_loop_and_its_gradients_are_finite_differences(variant, mask, memory_mask):
    """For every weight, both inputs and the initial states."""
    layer = make(**variant)
    count = 2 * variant["num_layers"]
    with dtype_policy("float64"):
        variables = layer.trainable_variables
        values = [to_numpy(variable) for variable in variables]
        names = [variable.path.rpartition("/")[2] for variable in variables]

        def call(x, memory, *others):
            scope = keras.StatelessScope(state_mapping=list(zip(variables, others[count:])))
            with scope:
                return layer(x, memory, initial_state=list(others[:count]), mask=mask, memory_mask=memory_mask)

        arrays = [X, MEMORY, *STATES[:count], *values]
        (found,), (dx, dm, *others) = gradients(call, *arrays, mode=MODE)

    def oracle(x, memory, *others):
        weights = dict(zip(names, others[count:]))
        W_a, W_c = weights.pop("attention_kernel"), weights.pop("combination_kernel")
        return attention_decoder(
            weights, W_a, W_c, x, memory, mask, memory_mask, units=D, states=list(others[:count]), **variant
        )[0]

    np.testing.assert_allclose(found, oracle(*arrays), **EXACT)
    for index, gradient in enumerate([dx, dm, *others]):

        def loss(value, index=index):
            y = oracle(*arrays[:index], value, *arrays[index + 1 :])
            return np.sum(y * default_cotangent(y.shape))

        np.testing.assert_allclose(gradient, central_differences(loss, arrays[index]), **EXACT_GRADIENT)
    assert mask is None or not np.any(dx[~mask])
    assert memory_mask is None or not np.any(dm[~memory_mask])


def test_nan_in_the_padding_of_either_input_changes_nothing():
    layer = make(num_layers=2)
    x, memory = np.where(MASK[..., None], X, np.nan), np.where(MEMORY_MASK[..., None], MEMORY, np.nan)

    def call(x, memory):
        return layer(x, memory, mask=MASK, memory_mask=MEMORY_MASK)

    with dtype_policy("float64"):
        (expected,), clean = gradients(call, X, MEMORY, mode=MODE)
        (found,), dirty = gradients(call, x, memory, mode=MODE)
    np.testing.assert_allclose(found, expected, **EXACT)
    for one, other in zip(dirty, clean):
        np.testing.assert_allclose(one, other, **EXACT)


def test_single_steps_with_several_rows_per_sentence():
    """`step` with two rows per sentence equals the layer on each row."""
    layer = make(units=None, num_layers=2)
    twice = np.stack([X, X[:, ::-1]], axis=1).reshape(8, 3, E)
    with dtype_policy("float64"):
        expected = to_numpy(layer(twice, np.repeat(MEMORY, 2, axis=0), memory_mask=np.repeat(MEMORY_MASK, 2, axis=0)))
        memory = layer.remember(ops.convert_to_tensor(MEMORY), MEMORY_MASK)
        states = layer.first_states(8)
        found = []
        for t in range(3):
            output, states = layer.step(ops.convert_to_tensor(twice[:, t]), states, memory)
            found.append(to_numpy(output))
    np.testing.assert_allclose(np.stack(found, axis=1), expected, **EXACT)
    assert expected.shape == (8, 3, D)


def test_cells_of_keras():
    """Any cell works; a stack of one-layer cells is a stack of LSTMs."""
    cells = [keras.layers.LSTMCell(D), keras.layers.LSTMCell(D)]
    theirs = layers.AttentionDecoder(keras.layers.StackedRNNCells(cells))
    ours = layers.AttentionDecoder(keras.layers.StackedRNNCells([layers.CASLSTMCell(D, 1), layers.CASLSTMCell(D, 1)]))
    gru = layers.AttentionDecoder(keras.layers.GRUCell(D))
    x, memory = X.astype("float32"), MEMORY.astype("float32")
    for layer in (theirs, ours, gru):
        layer.build(x.shape, memory.shape)
        randomize(layer)
    ours.set_weights(theirs.get_weights())
    np.testing.assert_allclose(to_numpy(ours(x, memory)), to_numpy(theirs(x, memory)), atol=1e-6)
    assert gru(x, memory).shape == (4, 3, D)


def test_the_rows_of_the_context_start_larger():
    layer = layers.AttentionDecoder(layers.CASLSTMCell(60), 50, context_gain=3.0)
    layer.build((None, None, 5), (None, None, 40))
    kernel = to_numpy(layer.combination_kernel)
    of_glorot = np.sqrt(6 / (100 + 50))
    for rows, gain in ((kernel[:40], 3.0), (kernel[40:], 1.0)):
        assert 0.9 * gain * of_glorot < np.abs(rows).max() <= gain * of_glorot * (1 + 1e-6)
    assert layer.get_config()["context_gain"] == 3.0


@pytest.mark.parametrize("stacked", [False, True], ids=["alone", "stacked"])
@pytest.mark.short_run("torch")
def test_cells_of_keras_draw_new_dropout_masks_in_every_call(stacked):
    options = {"dropout": 0.5, "recurrent_dropout": 0.5}
    cells = [keras.layers.LSTMCell(D, **options, seed=i) for i in range(2)]
    layer = layers.AttentionDecoder(keras.layers.StackedRNNCells(cells) if stacked else cells[0])
    x, memory = X.astype("float32"), MEMORY.astype("float32")
    inputs = keras.Input(x.shape[1:]), keras.Input(memory.shape[1:])
    model = keras.Model(inputs, layer(*inputs))
    found = [to_numpy(model([x, memory], training=True)) for _ in range(2)]
    assert np.abs(found[0] - found[1]).max() > 1e-3
    model.compile("sgd", "mse")
    for rows in (4, 3):  # the last batch of an epoch may be smaller
        model.train_on_batch([x[:rows], memory[:rows]], np.zeros((rows, *found[0].shape[1:]), "float32"))
    np.testing.assert_array_equal(*[to_numpy(model([x, memory])) for _ in range(2)])


def test_masks_of_the_inputs_are_used():
    """These masks come with the inputs, not as arguments."""
    ids, memory_ids = np.array([[1, 2, 0], [3, 0, 0]]), np.array([[1, 2, 3, 0], [0, 0, 2, 1]])
    words, others = (keras.layers.Embedding(4, size, mask_zero=True) for size in (3, 2))
    decoder = layers.AttentionDecoder(layers.CASLSTMCell(D))
    inputs = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    model = keras.Model(inputs, decoder(words(inputs[0]), others(inputs[1])))
    expected = decoder(words(ids), others(memory_ids), mask=ids > 0, memory_mask=memory_ids > 0)
    assert not to_numpy(expected)[ids == 0].any()
    for found in (decoder(words(ids), others(memory_ids)), model([ids, memory_ids])):
        np.testing.assert_allclose(to_numpy(found), to_numpy(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layers.AttentionDecoder(keras.layers.Dense(3)), "recurrent cell"),
        (lambda: layers.AttentionDecoder(layers.CASLSTMCell(3), units=0), "units"),
        (lambda: layers.AttentionDecoder(layers.CASLSTMCell(3), context_gain=-1), "context_gain"),
        (lambda: make()(X, MEMORY, initial_state=STATES[:3]), "4 initial states, but got 3"),
        (lambda: make()(X, MEMORY, memory_mask=MASK), r"shape \(4, 3\)"),
        (lambda: make()(X, MEMORY, mask=MEMORY_MASK), r"shape \(4, 5\)"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
