from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.layers.boundary_words import BoundaryWords
from keras_slstm.layers.pooled_states import PooledStates
from keras_slstm.models import encoders
from keras_slstm.models.encoders import ENCODERS, build_encoder, register_encoder
from keras_slstm.ops.boundary_words import add_boundary_words
from tests.backend import to_numpy
from tests.layer_case import randomize

# Composed of parts that are tested on all backends.
pytestmark = [pytest.mark.backends("tensorflow", "torch"), pytest.mark.ci_run("torch")]

X = np.random.default_rng(0).normal(size=(3, 4, 2)).astype("float32")
MASK = np.array([[1, 1, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0]], bool)


@pytest.mark.parametrize("return_sequences", [False, True])
@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
def test_baseline_reads_the_boundary_words(mask, return_sequences):
    """`normalized_bilstm` runs over `<s>`, the words and `</s>`, and returns the states of the words only."""
    layer = build_encoder("normalized_bilstm", 3, return_sequences=return_sequences)
    assert isinstance(layer, BoundaryWords)
    layer.build(X.shape)
    randomize(layer)
    x, extended_mask = add_boundary_words(
        keras.ops.convert_to_tensor(X), None if mask is None else keras.ops.convert_to_tensor(mask),
        keras.ops.convert_to_tensor(layer.boundary_embeddings),
    )  # fmt: skip
    expected = to_numpy(layer.layer(x, mask=extended_mask))
    if return_sequences:
        expected = expected[:, 1:-1] * (1 if mask is None else mask[..., None])
    np.testing.assert_allclose(to_numpy(layer(X, mask=mask)), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "mixed_bfloat16"])
@pytest.mark.parametrize("name", ["slstm", "bilstm", "stacked_bilstm", "normalized_bilstm", "mingru", "caslstm"])
def test_dtype_reaches_every_weight(name, dtype):
    layer = build_encoder(name, 2, dtype=dtype)
    layer.build(X.shape)
    wanted = keras.DTypePolicy(dtype).variable_dtype
    assert {weight.dtype for weight in layer.trainable_weights} == {wanted}


@pytest.mark.parametrize(("name", "factor"), [("caslstm", 1), ("bi_caslstm", 2)])
def test_cas_lstm_sentence_is_the_maximum_over_real_words(name, factor):
    pooled, words = (build_encoder(name, 3, return_sequences=sequences) for sequences in (False, True))
    for layer in (pooled, words):
        layer.build(X.shape)
        randomize(layer)
    vectors = to_numpy(words(X, mask=MASK))
    assert vectors.shape == (3, 4, 3 * factor)
    expected = [row[mask].max(axis=0) if mask.any() else np.zeros(3 * factor) for row, mask in zip(vectors, MASK)]
    np.testing.assert_allclose(to_numpy(pooled(X, mask=MASK)), expected, atol=1e-6)
    assert np.any(np.array(expected) < 0), "padding, which is 0, would not show"


def test_cas_lstm_takes_its_options():
    layer = build_encoder("caslstm", 3, num_layers=3, lam="trainable", dropout=0.5)
    assert (layer.layers[0].num_layers, layer.layers[0].lam, layer.layers[0].dropout) == (3, "trainable", 0.5)
    layer.build(X.shape)
    assert np.any(to_numpy(layer(X, training=True)) != to_numpy(layer(X)))


@pytest.mark.parametrize(("name", "selection"), [("depth_adaptive_grn", "gumbel"), ("full_depth_grn", "full")])
def test_grn_sentence_is_maximum_mean_and_state(name, selection):
    pooled = build_encoder(name, 3, max_depth=2)
    assert (pooled.layer.selection, pooled.layer.recurrent_dropout, pooled.layer.max_depth) == (selection, 0.2, 2)
    pooled.build(X.shape)
    randomize(pooled)
    h, g, _ = (to_numpy(y) for y in pooled.layer(X, mask=MASK))
    expected = []
    for words, mask, state in zip(h, MASK, g):
        kept = words[mask] if mask.any() else np.zeros((1, 3))
        expected.append(np.maximum(0, np.concatenate([kept.max(axis=0), kept.mean(axis=0), state])))
    assert np.any(h[:, :, 0].max(axis=1) < 0) or np.any(h < 0)
    np.testing.assert_allclose(to_numpy(pooled(X, mask=MASK)), expected, atol=1e-6)
    words = build_encoder(name, 3, return_sequences=True)
    assert words(X, mask=MASK).shape == (3, 4, 3)
    twin = type(pooled).from_config(pooled.get_config())
    assert twin.layer.get_config() == pooled.layer.get_config()


@pytest.mark.parametrize("missing", ["return_sequences", "return_state"])
def test_pooled_states_need_words_and_sentence(missing):
    returned = {"return_sequences": True, "return_state": True, missing: False}
    with pytest.raises(ValueError, match=f"{missing}=True"):
        PooledStates(keras_slstm.DepthAdaptiveGRN(3, **returned))


def test_an_encoder_is_registered_once_and_with_the_arguments_it_is_called_with(monkeypatch):
    monkeypatch.setattr(encoders, "_ENCODERS", dict(ENCODERS))
    register_encoder("test_gru", lambda units, return_sequences, **options: keras.layers.GRU(units, **options))
    assert isinstance(build_encoder("test_gru", 3), keras.layers.GRU)
    with pytest.raises(ValueError, match="An encoder named 'test_gru' already exists"):
        register_encoder("test_gru", keras.layers.GRU)
    with pytest.raises(ValueError, match="must take `\\(units, return_sequences"):
        register_encoder("test_other", lambda units: None)
    with pytest.raises(ValueError, match="a function that returns a layer, but got 3"):
        register_encoder("test_other", 3)
    with pytest.raises(TypeError, match="does not support item assignment"):
        ENCODERS["test_other"] = keras.layers.GRU
