import numpy as np
import pytest

import keras_slstm
from keras_slstm.ops.word_pieces import labels_of_pieces, pool_word_pieces, word_ids
from tests.backend import to_numpy

WORDS = [[None, 0, 0, 0, 1, 2, 2, None], [None, 0, 1, 1, None]]
LABELS = [[1, 0, 2], [2, 1]]


@pytest.mark.parametrize("method", ["first", "last", "mean"])
def test_words_have_the_vectors_of_their_pieces(method):
    vectors = np.random.default_rng(0).normal(size=(2, 8, 4)).astype("float32")
    vectors[word_ids(WORDS) < 0] = np.nan
    found, mask = pool_word_pieces(vectors, word_ids(WORDS), method)
    np.testing.assert_array_equal(to_numpy(mask), [[1, 1, 1], [1, 1, 0]])
    for row, words in enumerate(WORDS):
        for word in range(len(LABELS[row])):
            own = [vectors[row, place] for place, found_word in enumerate(words) if found_word == word]
            expected = {"first": own[0], "last": own[-1], "mean": np.mean(own, axis=0)}[method]
            np.testing.assert_allclose(to_numpy(found)[row, word], expected, rtol=1e-5)
    assert not to_numpy(found)[1, 2].any()


def test_the_first_piece_of_a_word_has_its_label():
    found = labels_of_pieces(LABELS, word_ids(WORDS))
    ignored = -100
    expected = [
        [ignored, 1, ignored, ignored, 0, 2, ignored, ignored],
        [ignored, 2, 1, *[ignored] * 5],
    ]
    np.testing.assert_array_equal(found, expected)


def test_a_crf_over_pieces_learns_from_words():
    """Word labels train a CRF on the outputs of a frozen piece encoder."""
    vectors = np.random.default_rng(0).normal(size=(2, 8, 4)).astype("float32")
    pooled, mask = pool_word_pieces(vectors, word_ids(WORDS), "mean")
    potentials = keras_slstm.CRF(3)(pooled, mask=mask)
    labels = np.array([[*row, 0][:3] for row in LABELS])
    assert np.isfinite(float(to_numpy(keras_slstm.CRFLoss()(labels, potentials))))


def test_bad_arguments():
    with pytest.raises(ValueError, match='"first", "last" or "mean"'):
        pool_word_pieces(np.zeros((1, 2, 3)), [[0, 1]], "max")
    with pytest.raises(ValueError, match=r"= \(1, 2\), but got shape \(1, 3\)"):
        pool_word_pieces(np.zeros((1, 2, 3)), [[0, 1, 2]])


@pytest.mark.parametrize("last", [0, 1, 2, 3])
def test_the_number_of_words_is_that_of_the_longest_sentence(last):
    words = np.arange(last + 1)[None]
    found, mask = pool_word_pieces(np.ones((1, last + 1, 2), "float32"), words, "first")
    assert tuple(found.shape) == (1, last + 1, 2)
    assert tuple(mask.shape) == (1, last + 1)
