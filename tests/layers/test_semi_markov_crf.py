"""The scores of `SemiMarkovCRF`, and a model that learns segments."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.ops.semi_crf_functions import unpack_segments
from tests.backend import dtype_policy, to_numpy
from tests.layer_case import randomize

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

K, LONGEST, FEATURES = 3, 4, 5
H = np.random.default_rng(0).normal(size=(4, 6, FEATURES))
MASK = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0]], bool)


@pytest.mark.parametrize("use_boundary", [True, False])
def test_scores_are_those_of_the_equation(use_boundary):
    with dtype_policy("float64"):
        layer = keras_slstm.SemiMarkovCRF(K, LONGEST, use_boundary)
        layer.build((None, None, FEATURES))
        randomize(layer)
        found = unpack_segments(layer(H, mask=MASK), LONGEST)
    weights = {weight.name: to_numpy(weight) for weight in layer.weights}
    scores = H @ weights["kernel"] + weights["bias"]
    for row, mask in enumerate(MASK):
        words = np.flatnonzero(mask)
        if use_boundary and len(words):
            scores[row, words[0], K : 2 * K] += weights["left_boundary"]
            scores[row, words[-1], 2 * K :] += weights["right_boundary"]
    scores[~MASK] = 0
    for index, part in enumerate(found[:3]):
        np.testing.assert_allclose(to_numpy(part), scores[..., index * K : (index + 1) * K], atol=1e-12)
    np.testing.assert_array_equal(to_numpy(found.durations), weights["duration_kernel"])
    np.testing.assert_array_equal(to_numpy(found.transitions), weights["chain_kernel"])
    np.testing.assert_array_equal(to_numpy(found.mask), MASK)


@pytest.mark.short_run("torch")
def test_a_model_learns_segments(tmp_path):
    """Word 1 begins a span that word 2 continues; all other words are single segments."""
    rng = np.random.default_rng(0)
    words = np.array([rng.permutation([0, 0, 12, 122, 0, 12]) for _ in range(64)])
    ids = np.array([[int(digit) + 1 for number in row for digit in str(number)] for row in words])
    segments = np.where(ids == 2, 1, np.where(ids == 3, -1, 0))
    model = keras.Sequential([keras.layers.Embedding(4, 8, mask_zero=True), keras_slstm.SemiMarkovCRF(2, 3)])
    model.compile(keras.optimizers.Adam(0.1), loss=keras_slstm.SemiMarkovCRFLoss(3))
    losses = model.fit(ids, segments, epochs=12, verbose=0).history["loss"]
    assert losses[-1] < 0.2 * losses[0]
    model.save(tmp_path / "model.keras")
    model = keras.saving.load_model(tmp_path / "model.keras")
    found = to_numpy(keras_slstm.semi_crf_decode(model.predict(ids, verbose=0), 3))
    np.testing.assert_array_equal(found, segments)


def test_bad_arguments_are_explained():
    with pytest.raises(ValueError, match="max_length"):
        keras_slstm.SemiMarkovCRF(3, 0)
    with pytest.raises(ValueError, match="max_length"):
        keras_slstm.SemiMarkovCRFLoss(0)


def test_an_empty_batch_has_a_scalar_loss():
    potentials = keras_slstm.SemiMarkovCRF(2, 3)(np.zeros((0, 4, 5), "float32"))
    segments = np.zeros((0, 4), int)
    for weights in (None, np.zeros(0)):
        loss = to_numpy(keras_slstm.SemiMarkovCRFLoss(3)(segments, potentials, weights))
        assert loss.shape == ()
        assert loss == 0
    assert to_numpy(keras_slstm.SemiMarkovCRFLoss(3, reduction="none")(segments, potentials)).shape == (0,)


def test_sample_weights_are_per_sentence():
    """Word weights would be broadcast if a batch had as many sentences as words."""
    potentials = keras_slstm.SemiMarkovCRF(2, 3)(H[:, :4])
    segments, loss = np.zeros((4, 4), int), keras_slstm.SemiMarkovCRFLoss(3)
    ones = to_numpy(loss(segments, potentials))
    np.testing.assert_allclose(to_numpy(loss(segments, potentials, np.full((4, 1), 2))), 2 * ones, rtol=1e-6)
    with pytest.raises(ValueError, match=r"of shape \(batch,\), not \(4, 4\)"):
        loss(segments, potentials, np.ones((4, 4)))
    with pytest.raises(ValueError, match="finite and >= 0, but got -1"):
        loss(segments, potentials, [1, 1, -1, 1])


def test_labels_are_not_rounded_in_half_precision():
    potentials = keras_slstm.SemiMarkovCRF(300, 1)(np.zeros((1, 1, 2), "float32"))
    with dtype_policy("bfloat16"):
        loss = keras_slstm.SemiMarkovCRFLoss(1)
        with pytest.raises(ValueError, match=r"0 to 299 .* but got 301"):
            loss(np.array([[301]]), potentials)
    assert loss.dtype == "float32"
