"""Trained words around a sentence, tested with a layer that averages its input."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import MaskedGlobalAveragePooling1D, layers
from keras_slstm.layers.boundary_words import BoundaryWords
from tests.backend import to_numpy
from tests.layer_case import randomize

X = np.random.default_rng(0).normal(size=(4, 5, 3)).astype("float32")
MASK = np.array([[1, 1, 1, 1, 1], [0, 1, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 0]], bool)


def _layer(inner):
    layer = BoundaryWords(inner)
    layer.build(X.shape)
    randomize(layer)
    return layer


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
def test_the_layer_reads_a_word_on_each_side(mask):
    layer = _layer(MaskedGlobalAveragePooling1D())
    around = to_numpy(layer.boundary_embeddings)
    found = to_numpy(layer(X, mask=mask))
    assert found.shape == layer.compute_output_shape(X.shape)
    for row, words in enumerate(X):
        unmasked = words if mask is None else words[mask[row]]
        expected = np.mean([around[0], *unmasked, around[1]], axis=0) if len(unmasked) else np.zeros(3)
        np.testing.assert_allclose(found[row], expected, atol=1e-6)


def test_boundary_words_are_dropped_from_a_sequence():
    layer = _layer(layers.NormalizedLSTM(2, return_sequences=True))
    found = to_numpy(layer(X, mask=MASK))
    assert found.shape == layer.compute_output_shape(X.shape) == (4, 5, 2)
    assert not np.any(found[~MASK])
    assert np.all(np.any(found[MASK], axis=-1))
    assert layer.compute_mask(X, MASK) is MASK
    assert _layer(MaskedGlobalAveragePooling1D()).compute_mask(X, MASK) is None


def test_layer_can_be_recreated_from_its_config():
    layer = _layer(layers.NormalizedLSTM(2, name="inner"))
    twin = keras.layers.deserialize(keras.layers.serialize(layer))
    assert twin.name == layer.name
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(to_numpy(twin(X, mask=MASK)), to_numpy(layer(X, mask=MASK)))


@pytest.mark.parametrize(("time", "inner"), [(5, 7), (None, None)])
def test_the_inner_layer_is_built_for_two_more_words(time, inner):
    class Inner(keras.layers.Layer):
        def build(self, input_shape):
            self.shape_of_build = tuple(input_shape)

    layer = BoundaryWords(Inner())
    layer.build((4, time, 3))
    assert layer.layer.shape_of_build == (4, inner, 3)
    assert tuple(layer.boundary_embeddings.shape) == (2, 3)
