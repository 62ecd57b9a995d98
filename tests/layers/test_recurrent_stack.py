"""Recurrent stacks against the layers that they consist of."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm import layers
from keras_slstm.layers.recurrent_stack import RecurrentStack, recurrent_cell
from keras_slstm.models.equal_width import equal_width
from tests.backend import to_numpy
from tests.layer_case import randomize

# Composed of parts that are tested on all backends.
pytestmark = [pytest.mark.backends("tensorflow", "torch"), pytest.mark.ci_run("torch")]

X = np.random.default_rng(0).normal(size=(3, 5, 4)).astype("float32")
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], bool)


def build(*arguments, **options):
    stack = RecurrentStack(*arguments, **options)
    stack.build(X.shape)
    randomize(stack)
    return stack


def test_caslstm_stack_equals_the_layer():
    stack = build("caslstm", 6, 3, cell_options={"lam": 0.25})
    layer = layers.CASLSTM(6, 3, lam=0.25, return_sequences=True, return_state=True)
    layer.build(X.shape)
    layer.set_weights(stack.get_weights())
    for one, other in zip(stack(X, mask=MASK), layer(X, mask=ops.convert_to_tensor(MASK)), strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), atol=1e-6)


def test_lstm_stack_equals_keras_lstms():
    stack = build("lstm", 6, 2)
    theirs = [keras.layers.LSTM(6, return_sequences=True, return_state=True) for _ in range(2)]
    x, states = ops.convert_to_tensor(X), []
    for layer, ours in zip(theirs, stack.directions[0]):
        layer.build(x.shape)
        layer.set_weights([to_numpy(weight) for weight in ours.trainable_variables])
        x, *own = layer(x)
        states += own
    for one, other in zip(stack(X), [x, *states], strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), atol=1e-6)


@pytest.mark.parametrize("cell", ["caslstm", "lstm"])
def test_two_directions_equal_two_stacks(cell):
    stack = build(cell, 6, 2, bidirectional=True)
    halves = []
    for direction in stack.directions:
        half = RecurrentStack(cell, 3, 2)
        half.build(X.shape)
        half.set_weights([to_numpy(weight) for layer in direction for weight in layer.weights])
        halves.append(half)
    found = stack(X, mask=MASK)
    forwards = halves[0](X, mask=MASK)
    backwards = halves[1](X[:, ::-1].copy(), mask=MASK[:, ::-1].copy())
    np.testing.assert_allclose(to_numpy(found[0])[..., :3], to_numpy(forwards[0]), atol=1e-6)
    np.testing.assert_allclose(to_numpy(found[0])[..., 3:], to_numpy(backwards[0])[:, ::-1], atol=1e-6)
    for one, first, second in zip(found[1:], forwards[1:], backwards[1:], strict=True):
        np.testing.assert_allclose(to_numpy(one), np.concatenate([to_numpy(first), to_numpy(second)], -1), atol=1e-6)


@pytest.mark.parametrize("cell", ["caslstm", "lstm"])
def test_padding_config_and_shapes(cell):
    stack = build(cell, 6, 2, bidirectional=True, dropout=0.3)
    found = stack(X, mask=MASK)
    for row, words in enumerate(MASK):
        alone = stack(X[row : row + 1, words])
        np.testing.assert_allclose(to_numpy(found[0])[row, words], to_numpy(alone[0])[0], atol=1e-6)
        assert not to_numpy(found[0])[row, ~words].any()
        for one, other in zip(found[1:], alone[1:]):
            np.testing.assert_allclose(to_numpy(one)[row], to_numpy(other)[0], atol=1e-6)
    twin = RecurrentStack.from_config(stack.get_config())
    twin.build(X.shape)
    twin.set_weights(stack.get_weights())
    np.testing.assert_allclose(to_numpy(twin(X)[0]), to_numpy(stack(X)[0]), atol=1e-6)
    assert [tuple(shape) for shape in stack.compute_output_shape(X.shape)] == [tuple(y.shape) for y in found]
    dropped = to_numpy(stack(X, training=True)[0])
    assert np.abs(dropped - to_numpy(stack(X)[0])).max() > 1e-3


@pytest.mark.parametrize("cell", ["caslstm", "lstm"])
def test_a_cell_equals_the_stack(cell):
    stack = build(cell, 6, 2)
    loop = keras.layers.RNN(recurrent_cell(cell, 6, 2), return_sequences=True)
    loop.build(X.shape)
    loop.set_weights([to_numpy(weight) for weight in stack.trainable_variables])
    np.testing.assert_allclose(to_numpy(loop(X)), to_numpy(stack(X)[0]), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RecurrentStack("gru"), "'gru'"),
        (lambda: recurrent_cell("gru", 4, 2), "'gru'"),
        (lambda: RecurrentStack("lstm", 5, bidirectional=True), "even"),
        (lambda: RecurrentStack("lstm", 0), "units"),
        (lambda: RecurrentStack("caslstm", 4, cell_options={"speed": 1}), "speed"),
        (lambda: recurrent_cell("caslstm", 4, 2, speed=1), "speed"),
        (lambda: RecurrentStack("caslstm", 4, cell_options={"lam": 3}), "lam"),
        (lambda: RecurrentStack("caslstm", 4, cell_options={"dropout": 0.1}), "options: dropout"),
        (lambda: RecurrentStack("lstm", 4, cell_options={"peephole": True}), "options: peephole"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_equal_width():
    for wanted in (1, 5, 99, 100, 101, 12345):
        best = min(range(1, 200), key=lambda units: (abs(units**2 - wanted), units))
        assert equal_width(lambda units: units**2, wanted) == best
    assert equal_width(lambda units: units**2, 100, step=4) == 8  # from 64 and 144
    for arguments in ({"wanted": 0}, {"wanted": 5, "step": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            equal_width(lambda units: units, **arguments)


def test_equal_width_of_the_paper():
    """Table 5: a CAS-LSTM of 247 units has roughly as many parameters as an LSTM of 256."""

    def parameters(cell, units, embedding_dim=256, target_words=6_632):
        plain = {"recurrent_initializer": "zeros"}  # orthogonal initialisation takes seconds
        encoder = RecurrentStack(cell, units, 2, cell_options=plain)
        encoder.build((None, None, embedding_dim))
        decoder = layers.AttentionDecoder(recurrent_cell(cell, units, 2, **plain))
        decoder.build((None, None, embedding_dim), (None, None, units))
        return encoder.count_params() + decoder.count_params() + (units + 1) * target_words

    assert abs(equal_width(lambda units: parameters("caslstm", units), parameters("lstm", 256)) - 247) <= 1


@pytest.mark.parametrize("cell", ["caslstm", "lstm"])
def test_each_output_has_its_mask(cell):
    stack = build(cell, 6, 3)
    masks = stack.compute_mask(X, MASK)
    assert masks[0] is MASK
    assert masks[1:] == [None] * (len(stack(X)) - 1)
