"""The hidden layers of classifiers and the pair features against explicit loops."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm.layers.mlp import MLP
from keras_slstm.ops.pair_features import pair_features
from tests.backend import BACKEND, EXACT, EXACT_GRADIENT, default_cotangent, dtype_policy, gradients, to_numpy
from tests.layer_case import randomize
from tests.oracles import pair_classifier
from tests.oracles.differences import central_differences

# Composed of parts that are tested on all backends.
pytestmark = [pytest.mark.backends("tensorflow", "torch"), pytest.mark.ci_run("torch")]

X = np.random.default_rng(0).normal(size=(5, 3))
Y = np.random.default_rng(1).normal(size=(5, 3))


def parameters(layer):
    hidden = [[to_numpy(w).astype("float64") for w in (one.kernel, one.bias)] for one in layer.hidden]
    norms = [
        [to_numpy(w).astype("float64") for w in (one.gamma, one.beta, one.moving_mean, one.moving_variance)]
        for one in layer.norms
    ]
    return hidden, norms


def run(layer, x, **options):
    """Return the output, and the gradient of its sum weighted by `default_cotangent`."""

    def call(x):
        with keras.StatelessScope():  # JAX cannot trace updates of the averages
            return layer(x, **options)

    (output,), (gradient,) = gradients(call, x)
    return output, gradient


def make(units, batch_norm=False, dropout=0.0, dtype="float64"):
    layer = MLP(units, dropout, batch_norm, dtype=dtype)
    layer.build(X.shape)
    randomize(layer)
    for norm in layer.norms:
        norm.moving_variance.assign(np.random.default_rng(2).uniform(0.5, 2.0, norm.moving_variance.shape))
    return layer


@pytest.mark.parametrize("kind", ["inference", "paraphrase"])
def test_pair_features_are_those_of_the_paper(kind):
    with dtype_policy("float64"):
        a, b = (keras.ops.convert_to_tensor(x, "float64") for x in (X, Y))
        found = to_numpy(pair_features(a, b, kind))
    expected = np.stack([pair_classifier.features(x, y, kind) for x, y in zip(X, Y)])
    np.testing.assert_allclose(found, expected, **EXACT)


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("units", [(4,), (4, 2)])
def test_equals_the_explicit_loop(units, batch_norm):
    with dtype_policy("float64"):
        layer = make(units, batch_norm)
        found, gradient = run(layer, X)
        hidden, norms = parameters(layer)
    expected = np.stack([pair_classifier.mlp(x, hidden, norms) for x in X])
    np.testing.assert_allclose(found, expected, **EXACT)
    cotangent = default_cotangent(found.shape)

    def total(x):
        return sum((pair_classifier.mlp(row, hidden, norms) * c).sum() for row, c in zip(x, cotangent))

    np.testing.assert_allclose(gradient, central_differences(total, X), **EXACT_GRADIENT)


def test_normalises_by_batch_statistics_in_training_and_updates_averages():
    with dtype_policy("float64"):
        layer = make((4,), batch_norm=True)
        hidden, norms = parameters(layer)
        found = to_numpy(layer(keras.ops.convert_to_tensor(X, "float64"), training=True))
        _, after = parameters(layer)

    def of_batch(x, norm):
        statistics = x.mean(axis=0), x.var(axis=0)
        return np.stack([pair_classifier.normalise(row, *norm[:2], *statistics) for row in x]), statistics

    x, first = of_batch(X, norms[0])
    x = np.stack([np.maximum(pair_classifier.dense(row, *hidden[0]), 0) for row in x])
    x, second = of_batch(x, norms[1])
    np.testing.assert_allclose(found, x, **EXACT)
    for before, now, (mean, variance) in zip(norms, after, (first, second)):
        np.testing.assert_allclose(now[2], 0.9 * before[2] + 0.1 * mean, **EXACT)
        np.testing.assert_allclose(now[3], 0.9 * before[3] + 0.1 * variance, **EXACT)


def test_one_example_and_equal_ones_give_no_nan_in_training():
    layer = make((4,), batch_norm=True, dtype="float32")
    for x in (X[:1], np.repeat(X[:1], 3, axis=0)):
        assert all(np.isfinite(found).all() for found in run(layer, x.astype("float32"), training=True))


def test_dropout_acts_in_training_before_the_first_and_after_the_last_layer():
    layer = MLP((2000,), dropout=0.5)
    x = np.ones((2, 1000), "float32")
    layer.build(x.shape)
    layer.hidden[0].kernel.assign(np.eye(1000, 2000))
    layer.hidden[0].bias.assign(np.r_[np.zeros(1000), np.ones(1000)])
    np.testing.assert_array_equal(to_numpy(layer(x)), np.ones((2, 2000)))
    noisy = to_numpy(layer(x, training=True))
    assert (noisy[:, :1000] == 0).mean() == pytest.approx(0.75, abs=0.05)  # of the input and of the output
    assert (noisy[:, 1000:] == 0).mean() == pytest.approx(0.5, abs=0.05)
    assert set(np.unique(noisy)) == {0, 2, 4}


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16", "float32"])
def test_dtypes(dtype):
    exact = make((4,), batch_norm=True)
    layer = make((4,), batch_norm=True, dtype=dtype)
    with dtype_policy("float64"):
        expected, _ = run(exact, X)
    layer.set_weights(exact.get_weights())
    found = layer(X.astype("float32"))
    assert keras.backend.standardize_dtype(found.dtype) == keras.DTypePolicy(dtype).compute_dtype
    tolerance = {"float32": 1e-5, "mixed_float16": 2e-2, "mixed_bfloat16": 0.2}[dtype]
    np.testing.assert_allclose(to_numpy(found), expected, atol=tolerance)


def test_config_and_shape():
    layer = make((4, 2), batch_norm=True, dropout=0.25, dtype="float32")
    again = MLP.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    assert layer.compute_output_shape((None, 3)) == (None, 2)
    again.build(X.shape)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(to_numpy(again(X.astype("float32"))), to_numpy(layer(X.astype("float32"))))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": ()}, "`units` must be a list of the sizes"),
        ({"units": 300}, "`units` must be a list of the sizes"),
        ({"units": [0]}, "`units` must be an integer of at least 1"),
        ({"units": [3], "dropout": 1}, "`dropout` must be in"),
        ({"units": [3], "batch_norm": "no"}, "`batch_norm` must be True or False"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        MLP(**arguments)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="MirroredStrategy is TensorFlow's")
def test_statistics_under_mirrored_strategy():
    import tensorflow as tf

    # The default collective operations mix up several strategies in one process.
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], tf.distribute.ReductionToOneDevice())
    with strategy.scope():
        model = keras.Sequential([MLP((4,), batch_norm=True), keras.layers.Dense(1)])
        model.compile("sgd", loss="mse", jit_compile=False)
        model.fit(np.repeat(X, 4, axis=0), np.ones((20, 1)), batch_size=10, verbose=0)
    for norm in model.layers[0].norms:
        assert np.isfinite(to_numpy(norm.moving_mean)).all()
        assert np.abs(to_numpy(norm.moving_mean)).max() > 0
