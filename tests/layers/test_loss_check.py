"""A model that ends in a CRF and is compiled with one of Keras' losses names the right loss."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops

import keras_slstm

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

IDS = np.array([[1, 2, 3], [4, 5, 0]])
LAYERS = {
    "CRFLoss": lambda: keras_slstm.CRF(3),
    "SemiMarkovCRFLoss": lambda: keras_slstm.SemiMarkovCRF(3, max_length=2),
    "SecondOrderCRFLoss": lambda: keras_slstm.SecondOrderCRF(3),
}
CROSS_ENTROPIES = {
    "name": "sparse_categorical_crossentropy",
    "object": keras.losses.SparseCategoricalCrossentropy(),
    "function": keras.losses.sparse_categorical_crossentropy,
}


def _sequential(layer: keras.layers.Layer) -> keras.Model:
    return keras.Sequential([keras.layers.Embedding(9, 4, mask_zero=True), layer])


def _functional(layer: keras.layers.Layer) -> keras.Model:
    words = keras.Input((None,), dtype="int32")
    return keras.Model(words, layer(keras.layers.Embedding(9, 4, mask_zero=True)(words)))


@pytest.mark.parametrize("build", [_sequential, _functional])
@pytest.mark.parametrize("loss", LAYERS)
def test_the_right_loss_is_named(loss, build):
    model = build(LAYERS[loss]())
    model.compile("adam", loss=CROSS_ENTROPIES["name"])
    assert model.predict(IDS, verbose=0).shape[0] == 2
    with pytest.raises(ValueError, match=rf"loss=keras_slstm\.{loss}\(\), not with loss='sparse_"):
        model.fit(IDS, IDS % 3, verbose=0)


@pytest.mark.parametrize("form", ["object", "function", "dict"])
def test_all_ways_to_pass_a_loss(form):
    layer = keras_slstm.CRF(3, name="tags")
    model = _functional(layer)
    model.compile("adam", loss={"tags": CROSS_ENTROPIES["name"]} if form == "dict" else CROSS_ENTROPIES[form])
    with pytest.raises(ValueError, match="CRFLoss"):
        model.fit(IDS, IDS % 3, verbose=0)


def test_a_layer_after_the_crf_takes_a_cross_entropy():
    model = _sequential(keras_slstm.CRF(3))
    model.add(keras.layers.Lambda(keras_slstm.crf_marginals))
    model.compile("adam", loss=CROSS_ENTROPIES["name"])
    losses = model.fit(IDS[:1], IDS[:1] % 3, verbose=0).history["loss"]
    assert np.isfinite(losses).all()


def test_a_loss_of_the_user_and_a_training_step_of_the_user_are_left_alone():
    def sum_of_scores(labels, potentials):
        return ops.sum(potentials)

    class OwnStep(keras.Sequential):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return keras_slstm.CRFLoss()(y, y_pred)

    model = _sequential(keras_slstm.CRF(3))
    model.compile("adam", loss=sum_of_scores)
    model.fit(IDS, IDS % 3, verbose=0)
    model = OwnStep([keras.layers.Embedding(9, 4, mask_zero=True), keras_slstm.CRF(3)])
    model.compile("adam", loss="mse")
    model.fit(IDS, IDS % 3, verbose=0)
