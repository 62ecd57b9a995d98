"""The Biattentive Classification Network: its layer against explicit loops, training and saving."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm.layers.biattentive_encoder import BiattentiveEncoder
from keras_slstm.layers.maxout import Maxout
from keras_slstm.models.bcn import BCN
from keras_slstm.models.encoders import build_encoder
from tests.backend import BACKEND, EXACT, dtype_policy, to_numpy
from tests.layer_case import randomize
from tests.oracles.attentive_models import biattentive

# Composed of parts that are tested on all backends.
pytestmark = [pytest.mark.backends("tensorflow", "torch"), pytest.mark.ci_run("torch")]

E, D = 3, 2
X = np.random.default_rng(0).normal(size=(4, 4, E))
MASK = np.array([[1, 1, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]], bool)
# Keras' own LSTM, the integrator, rounds float64 elsewhere.
CLOSE = EXACT if BACKEND == "tensorflow" else {"rtol": 0, "atol": 1e-5}


def encoder(policy="float64", **options):
    with dtype_policy(policy):
        layer = BiattentiveEncoder(build_encoder("subilstm", 2, return_sequences=True), D, **options)
        layer.build(X.shape)
        randomize(layer)
        for norm in layer.norms:
            norm.moving_variance.assign(np.random.default_rng(2).uniform(0.5, 2.0, norm.moving_variance.shape))
    return layer


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
@pytest.mark.parametrize("options", [{}, {"batch_norm": False}, {"reductions": (2, 2, 4), "batch_norm": False}])
def test_layer_is_the_explicit_loop(options, mask):
    layer = encoder(**options)
    with dtype_policy("float64"):
        found = to_numpy(layer(X, mask=mask))
        words = to_numpy(layer.encoder(X, mask=mask))
        integrator = [to_numpy(w) for w in layer.integrator.trainable_variables]
        query = to_numpy(layer.query)
        maxouts = [(one.reduction, to_numpy(one.dense.kernel), to_numpy(one.dense.bias)) for one in layer.maxouts]
        norms = [
            [to_numpy(w) for w in (one.gamma, one.beta, one.moving_mean, one.moving_variance)] for one in layer.norms
        ]
    assert found.shape == tuple(layer.compute_output_shape(X.shape))
    for row, sentence in enumerate(words):
        unmasked = [word for t, word in enumerate(sentence) if mask is None or mask[row, t]]
        expected = biattentive(unmasked, integrator, query, maxouts, norms, D)
        np.testing.assert_allclose(found[row], expected, **CLOSE)


def test_maxout_is_the_largest_of_neighbouring_units():
    layer = Maxout(2)
    layer.build((None, 4))
    layer.dense.kernel.assign(np.eye(4))
    np.testing.assert_array_equal(to_numpy(layer(np.array([[1.0, -2.0, -3.0, 4.0]], "float32"))), [[1.0, 4.0]])
    with pytest.raises(ValueError, match="`reduction` must divide the number of features, 5, but got 2"):
        Maxout(2).build((None, 5))


def test_maxout_of_three_units_at_a_time():
    layer = Maxout(3)
    layer.build((None, 6))
    layer.dense.kernel.assign(np.eye(6))
    found = layer(np.array([[1.0, 3.0, 2.0, -4.0, -6.0, -5.0], [0, 0, 0, 1, 2, 3]], "float32"))
    np.testing.assert_array_equal(to_numpy(found), [[3.0, -4.0], [0.0, 3.0]])
    assert layer.compute_output_shape((None, 6)) == (None, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": 0}, "`units` must be an integer of at least 1, but got 0"),
        ({"reductions": 4}, "`reductions` must be a list of integers, but got 4"),
        ({"reductions": (4, 0)}, "`reductions` must be an integer of at least 1, but got 0"),
        ({"dropout": 1.0}, r"`dropout` must be in \[0, 1\), but got 1.0"),
        ({"batch_norm": "no"}, "`batch_norm` must be True or False, but got 'no'"),
    ],
)
def test_wrong_arguments_of_the_layer_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        BiattentiveEncoder(build_encoder("subilstm", 2, return_sequences=True), **options)


def test_layer_can_be_recreated_from_its_config():
    layer = encoder("float32", dropout=0.1)
    twin = BiattentiveEncoder.from_config(layer.get_config())
    assert twin.get_config() == layer.get_config()
    twin.build(X.shape)
    twin.set_weights(layer.get_weights())
    x = X.astype("float32")
    np.testing.assert_allclose(to_numpy(twin(x, mask=MASK)), to_numpy(layer(x, mask=MASK)), atol=1e-6)


def test_padding_changes_nothing_even_if_it_is_nan():
    layer = encoder("float32")
    x = X.astype("float32")
    padded = np.full((4, 6, E), np.nan, "float32")
    mask = np.zeros((4, 6), bool)
    padded[:, 1:5], mask[:, 1:5] = x, True
    np.testing.assert_allclose(to_numpy(layer(padded, mask=mask)), to_numpy(layer(x)), atol=1e-5)


def test_encoder_has_to_return_words():
    layer = BiattentiveEncoder(build_encoder("subilstm", 2), D)
    with pytest.raises(ValueError, match="`encoder` must return word vectors"):
        layer.build(X.shape)
    with pytest.raises(ValueError, match="`reductions` must be a list of integers, but got 4"):
        BiattentiveEncoder(build_encoder("subilstm", 2, True), D, reductions=4)
    with pytest.raises(ValueError, match="padding would count"):
        BCN(["a", "b"], keras.layers.Conv1D(4, 3, padding="same"))


def corpus(count=120, seed=0):
    """Return texts labelled by which of two cities is named first."""
    generator = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(count):
        cities = list(generator.permutation(["oslo", "rome"]))
        fillers = ["a", "flight"] * int(generator.integers(3))
        texts.append(" ".join([*fillers, "from", cities[0], "to", cities[1]]))
        labels.append(cities[0])
    return texts, labels


def make(encoder="subilstm", **options):
    keras.utils.set_random_seed(1)
    model = BCN(["oslo", "rome"], encoder, **{"units": 4, "embedding_dim": 4, "trainable_embeddings": True, **options})
    model.adapt(corpus()[0])
    return model


@pytest.mark.parametrize("first", ["bilstm", "stacked_bilstm", "subilstm", "subilstm_untied"])
def test_every_first_encoder(first):
    model = make(first, encoder_options={"dropout": 0.1})
    ids = np.array([[2, 3, 4, 0, 0], [5, 6, 2, 3, 4]], "int32")
    both = to_numpy(model(ids))
    np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(both[:1], to_numpy(model(ids[:1, :3])), atol=1e-5)


@pytest.mark.short_run("torch")
def test_learns_and_is_saved(tmp_path):
    model = make(maxout_dropout=0.1, dropout=0.1)
    # XLA would take seconds to compile for each length.
    model.compile(
        keras.optimizers.Adam(0.02),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=BACKEND == "jax",
    )
    history = model.fit(*corpus(), validation_data=corpus(40, seed=1), epochs=8, batch_size=16, verbose=0)
    assert history.history["val_accuracy"][-1] > 0.9
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(loaded, BCN)
    own = [
        {name: value for name, value in one.get_config().items() if name not in ("encoder", "vectorizer")}
        for one in (loaded, model)
    ]
    assert own[0] == own[1]
    texts, _ = corpus(10, seed=2)
    np.testing.assert_allclose(loaded.predict(texts, verbose=0), model.predict(texts, verbose=0), atol=1e-6)
    assert loaded.classify(texts) == model.classify(texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "lstm2"}, "Unknown encoder 'lstm2'"),
        ({"encoder": 3}, "`encoder` must be a name or a Keras layer, but got 3"),
        ({"maxout_dropout": 1.0}, r"`dropout` must be in \[0, 1\), but got 1.0"),
    ],
)
def test_wrong_arguments_raise(options, message):
    with pytest.raises(ValueError, match=message):
        BCN(["a", "b"], **options)
