"""The Enhanced Sequential Inference Model: its layer against explicit loops, training and saving."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm.layers.local_inference import LocalInference
from keras_slstm.models.esim import ESIM
from tests.backend import BACKEND, EXACT, dtype_policy, to_numpy
from tests.layer_case import randomize
from tests.oracles.attentive_models import local_inference

# Composed of parts that are tested on all backends.
pytestmark = [pytest.mark.backends("tensorflow", "torch"), pytest.mark.ci_run("torch")]

F, D = 3, 2
X = np.random.default_rng(0).normal(size=(4, 2, 4, F))
MASK = np.array(
    [[[1, 1, 1, 1], [1, 1, 0, 0]], [[0, 1, 1, 0], [1, 1, 1, 1]], [[1, 0, 0, 1], [0, 0, 0, 0]], [[0, 0, 0, 0]] * 2], bool
)
# Keras' own LSTM, the composition, rounds float64 elsewhere.
CLOSE = EXACT if BACKEND == "tensorflow" else {"rtol": 0, "atol": 1e-5}


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
def test_layer_is_the_explicit_loop(mask):
    with dtype_policy("float64"):
        layer = LocalInference(D)
        layer.build(X.shape)
        randomize(layer)
        found = to_numpy(layer(X, mask=mask))
        projection = [to_numpy(w) for w in (layer.projection.kernel, layer.projection.bias)]
        composition = [to_numpy(w) for w in layer.composition.trainable_variables]
    assert found.shape == tuple(layer.compute_output_shape(X.shape))
    for row, pair in enumerate(X):
        a, b = ([word for t, word in enumerate(pair[side]) if mask is None or mask[row, side, t]] for side in range(2))
        np.testing.assert_allclose(found[row], local_inference(a, b, projection, composition, D), **CLOSE)


def test_padding_changes_nothing_even_if_it_is_nan():
    layer = LocalInference(D)
    layer.build(X.shape)
    randomize(layer)
    x = X.astype("float32")
    padded = np.full((4, 2, 6, F), np.nan, "float32")
    mask = np.zeros((4, 2, 6), bool)
    padded[:, :, 1:5], mask[:, :, 1:5] = x, True
    np.testing.assert_allclose(to_numpy(layer(padded, mask=mask)), to_numpy(layer(x)), atol=1e-5)


def test_layer_can_be_recreated_from_its_config():
    layer = LocalInference(D, dropout=0.25)
    assert LocalInference.from_config(layer.get_config()).get_config() == layer.get_config()
    with pytest.raises(ValueError, match="expects a mask of shape"):
        layer(X.astype("float32"), mask=MASK[:, 0])


def corpus(count=160, seed=0):
    """Return pairs labelled by whether both sentences name the same city."""
    generator = np.random.default_rng(seed)
    pairs, labels = [], []
    for i in range(count):
        one, other = generator.choice(["oslo", "rome", "lima"], 2, replace=False)
        fillers = ["a", "flight"] * int(generator.integers(3))
        pairs.append((f"to {one}", " ".join([*fillers, "to", one if i % 2 else other])))
        labels.append("same" if i % 2 else "other")
    return pairs, labels


def make(encoder="subilstm", **options):
    keras.utils.set_random_seed(1)
    options = {"units": 4, "embedding_dim": 4, "mlp_units": (8,), "dropout": 0.1, **options}
    if "score_range" not in options:
        options["labels"] = ["same", "other"]
    model = ESIM(encoder=encoder, **options)
    model.adapt(corpus()[0])
    return model


@pytest.mark.parametrize("first", ["bilstm", "stacked_bilstm", "subilstm", "subilstm_untied"])
def test_every_first_encoder_and_padding_changes_nothing(first):
    model = make(first)
    ids = np.array([[[2, 3, 4, 0, 0], [5, 0, 0, 0, 0]], [[5, 6, 7, 2, 2], [3, 4, 0, 0, 0]]], "int32")
    both = to_numpy(model(ids))
    np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(both[:1], to_numpy(model(ids[:1, :, :3])), atol=1e-5)


@pytest.mark.short_run
def test_learns_and_is_saved(tmp_path):
    model = make(dropout=0.0, units=12, embedding_dim=12, mlp_units=(16,))
    # XLA would take seconds to compile for each length.
    model.compile(keras.optimizers.Adam(0.01), jit_compile=BACKEND == "jax")
    history = model.fit(*corpus(), validation_data=corpus(40, seed=1), epochs=12, batch_size=16, verbose=0)
    assert history.history["val_accuracy"][-1] > 0.9
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(loaded, ESIM)
    own = [
        {name: value for name, value in one.get_config().items() if name not in ("encoder", "vectorizer")}
        for one in (loaded, model)
    ]
    assert own[0] == own[1]
    pairs, _ = corpus(10, seed=2)
    np.testing.assert_allclose(loaded.predict(pairs, verbose=0), model.predict(pairs, verbose=0), atol=1e-6)
    assert loaded.classify(pairs) == model.classify(pairs)


def test_gives_scores(tmp_path):
    model = make(score_range=(1, 5))
    model.compile("adam", jit_compile=BACKEND == "jax")
    pairs, labels = corpus(8)
    model.fit(pairs, [4.5 if label == "same" else 1.0 for label in labels], verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.score(pairs), model.score(pairs), atol=1e-5)


def test_an_adapted_vectorizer_builds_the_model_at_once():
    first = make()
    second = ESIM(["same", "other"], "bilstm", 4, vectorizer=first.vectorizer, embedding_dim=4, mlp_units=())
    assert second.built
    assert second(np.array([[[2, 3], [4, 0]]], "int32")).shape == (1, 2)


@pytest.mark.parametrize("option", ["pooling", "features", "mlp_dropout"])
def test_fixed_options_are_refused(option):
    with pytest.raises(TypeError, match=f"ESIM does not take {option}"):
        ESIM(["same", "other"], "bilstm", 4, **{option: None})
