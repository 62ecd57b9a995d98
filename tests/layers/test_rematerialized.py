"""Inside `keras.RematScope`, the gradient of layers with dropout uses the random numbers of the output."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm import layers
from keras_slstm.layers.recurrent_stack import RecurrentStack
from keras_slstm.layers.rematerialized import Dropout
from tests.backend import BACKEND, default_cotangent, evaluate, gradients

DROP = {"dropout": 0.4, "recurrent_dropout": 0.3, "seed": 3}
LAYERS = {
    "SLSTM": lambda: layers.SLSTM(6, steps=2, return_sequences=True, **DROP),
    "CASLSTM": lambda: layers.CASLSTM(4, num_layers=2, layer_dropout=0.5, return_sequences=True, **DROP),
    "NormalizedLSTM": lambda: layers.NormalizedLSTM(4, return_sequences=True, **DROP),
    "SuBiLSTM": lambda: layers.SuBiLSTM(4, max_context=(1, 4), return_sequences=True, **DROP),
    "DepthAdaptiveGRN": lambda: layers.DepthAdaptiveGRN(
        4, max_depth=3, selection="gumbel", return_sequences=True, **DROP
    ),
    "RecurrentStack": lambda: RecurrentStack(
        "lstm", units=4, bidirectional=True, dropout=0.4, cell_options={"seed": 3, "recurrent_dropout": 0.3}
    ),
}
X = np.random.default_rng(0).normal(size=(3, 6, 4)).astype("float32")


def randomized(layer):
    """Return the layer, with the same weights in every call."""
    layer.build(X.shape)
    random = np.random.default_rng(1)
    for weight in layer.trainable_variables:
        weight.assign(random.normal(scale=0.4, size=weight.shape))
    return layer


def assert_equal(found, expected):
    for one, other in zip(found.outputs, expected.outputs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(found.input_gradient, expected.input_gradient, atol=1e-5)
    for one, other in zip(found.weight_gradients.values(), expected.weight_gradients.values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.short_run
@pytest.mark.parametrize(
    "name",
    # JAX takes minutes for an uncompiled loop over time.
    [
        pytest.param(name, marks=[] if name == "SLSTM" else pytest.mark.backends("tensorflow", "torch"))
        for name in LAYERS
    ],
)
def test_gradient_uses_the_same_random_numbers(name):
    """Outside the scope nothing is recomputed, so two calls there give the expected results of two calls inside."""
    plain = randomized(LAYERS[name]())
    with keras.RematScope(mode="full"):
        again = randomized(LAYERS[name]())
    calls = [evaluate(layer, X, training=True) for layer in (plain, plain, again, again)]
    if BACKEND != "jax":  # on JAX, `evaluate` does not change the state of the seed
        assert np.abs(calls[0].outputs[0] - calls[1].outputs[0]).max() > 1e-3
    assert_equal(calls[2], calls[0])
    assert_equal(calls[3], calls[1])


def test_gradient_of_a_mask_without_a_seed():
    """For an input of ones, the output and the gradient of its sum are the mask."""
    with keras.RematScope(mode="full"):
        layer = Dropout(0.5)

    def call(x):
        with keras.StatelessScope():  # JAX cannot trace updates of the seed's state
            return layer(x, training=True)

    (mask,), (gradient,) = gradients(call, np.ones_like(X))
    assert set(np.unique(mask)) == {0, 2}
    np.testing.assert_allclose(gradient, mask * default_cotangent(X.shape), atol=1e-6)


@pytest.mark.short_run("torch")
def test_fit_with_a_layer_of_the_scope():
    with keras.RematScope(mode="full"):
        layer = LAYERS["SLSTM"]()
    model = keras.Sequential([layer, keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    before = ops.convert_to_numpy(layer.seed_generator.state)
    model.fit(X, np.ones((3, 6, 1), "float32"), batch_size=1, verbose=0)
    drawn = ops.convert_to_numpy(layer.seed_generator.state) - before
    np.testing.assert_array_equal(drawn, [0, 3 * 3])  # 3 batches times 3 masks: of x, h and g
    model.predict(X, verbose=0)
    np.testing.assert_array_equal(ops.convert_to_numpy(layer.seed_generator.state) - before, drawn)


@pytest.mark.skipif(BACKEND == "jax", reason="inside a scope, JAX turns the flags of a call into tensors")
@pytest.mark.parametrize("around", ["Sequential", "Bidirectional"])
def test_rematerialisation_by_an_outer_model_is_refused(around):
    with keras.RematScope(mode="full"):
        inner = LAYERS["CASLSTM"]()
        layer = keras.Sequential([inner]) if around == "Sequential" else keras.layers.Bidirectional(inner)
    layer.build(X.shape)
    with pytest.raises(ValueError, match="outside of it; or set the dropout"):
        evaluate(layer, X, training=True)
    evaluate(layer, X)  # nothing is drawn
