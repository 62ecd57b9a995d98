"""The scores of `SecondOrderCRF`, and a model that learns a pattern that a first-order CRF cannot."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_slstm
from tests.backend import dtype_policy, to_numpy
from tests.layer_case import randomize

pytestmark = pytest.mark.ci_run("torch")
H = np.random.default_rng(0).normal(size=(3, 5, 4))
MASK = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 1], [1, 0, 0, 0, 0]], bool)


@pytest.mark.parametrize("use_boundary", [True, False])
def test_without_second_order_scores_it_equals_a_crf(use_boundary):
    with dtype_policy("float64"):
        first = keras_slstm.CRF(3, use_boundary=use_boundary)
        second = keras_slstm.SecondOrderCRF(3, use_boundary)
        first(H), second(H)
        randomize(first)
        for weight in first.weights:
            getattr(second, weight.name).assign(weight)
        expected, found = first(H, mask=MASK), second(H, mask=MASK)
        for function in (keras_slstm.crf_log_partition, keras_slstm.crf_entropy):
            np.testing.assert_allclose(to_numpy(function(found)), to_numpy(function(expected)), rtol=1e-12)
        np.testing.assert_array_equal(
            to_numpy(keras_slstm.second_order_crf_decode(found)), to_numpy(keras_slstm.crf_decode(expected))
        )


def test_a_model_learns_from_the_last_but_one_label(tmp_path):
    """Words give only the first two labels; each later label repeats the one two words before, as in 0 0 1 1."""
    rng = np.random.default_rng(0)
    labels = np.tile(rng.integers(0, 2, size=(64, 2)), (1, 3))
    ids = np.where(np.arange(6) < 2, labels + 1, 3)
    model = keras.Sequential([keras.layers.Embedding(4, 8, mask_zero=True), keras_slstm.SecondOrderCRF(2)])
    model.compile(keras.optimizers.Adam(0.2), loss=keras_slstm.SecondOrderCRFLoss(ignore_class=-100))
    target = np.where(rng.random(labels.shape) < 0.1, -100, labels)
    model.fit(ids, target, epochs=15, verbose=0)
    model.save(tmp_path / "model.keras")
    model = keras.saving.load_model(tmp_path / "model.keras")
    assert model.loss.ignore_class == -100
    found = to_numpy(keras_slstm.second_order_crf_decode(model.predict(ids, verbose=0)))
    np.testing.assert_array_equal(found, labels)


def test_sample_weights_are_per_sentence():
    potentials, labels = keras_slstm.SecondOrderCRF(2)(H), np.zeros((3, 5), int)
    loss = keras_slstm.SecondOrderCRFLoss(reduction=None)
    single = to_numpy(loss(labels, potentials))
    np.testing.assert_allclose(to_numpy(loss(labels, potentials, [0, 1, 2])), [0, single[1], 2 * single[2]], rtol=1e-6)
    with pytest.raises(ValueError, match=r"shape \(batch,\)"):
        loss(labels, potentials, np.ones((3, 5)))
