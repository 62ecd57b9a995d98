"""The functions of masks against loops over the words of each row, on rows with any padding and of length 0."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops import masks
from keras_slstm.ops.positions import index_after, index_before, take_words
from tests.backend import MODES, dtype_policy, gradients, outputs

# A full row, an empty one, one padded left, one padded right, and two with masked words inside.
MASK = np.array(
    [[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 0, 1, 1], [0, 1, 0, 1, 0]], bool
)
X = np.random.default_rng(0).normal(size=(*MASK.shape, 3))
EMPTY = np.zeros((2, 0, 3))  # no words at all
WORDS = [np.flatnonzero(row) for row in MASK]
MODE = MODES[-1] if len(MODES) < 3 else "graph"


def _run(function, *arrays):
    with dtype_policy("float64"):
        return outputs(function, *arrays, mode=MODE)


@pytest.mark.parametrize(
    ("function", "of_row"),
    [
        (masks.masked_max, lambda row, words: row[words].max(axis=0)),
        (masks.masked_mean, lambda row, words: row[words].mean(axis=0)),
    ],
)
def test_pooling_sees_the_real_words_only(function, of_row):
    expected = [of_row(x, words) if len(words) else np.zeros(3) for x, words in zip(X, WORDS)]
    padded = np.where(MASK[..., None], X, np.inf if function is masks.masked_max else np.nan)
    for x in (X, padded):
        np.testing.assert_allclose(_run(function, x, MASK)[0], expected, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(_run(function, EMPTY, np.zeros((2, 0), bool))[0], np.zeros((2, 3)))
    np.testing.assert_array_equal(_run(lambda x: function(x, None), EMPTY)[0], np.zeros((2, 3)))
    np.testing.assert_allclose(_run(lambda x: function(x, None), X)[0], [of_row(x, slice(None)) for x in X], atol=1e-15)


def test_softmax_gives_padding_no_weight():
    scores = X[..., 0]
    expected = np.zeros(scores.shape)
    for row, words in enumerate(WORDS):
        weights = np.exp(scores[row, words])
        expected[row, words] = weights / weights.sum()
    (found,) = _run(masks.masked_softmax, scores, MASK)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    assert (found[~MASK] == 0).all()


def test_nan_in_padding_reaches_neither_value_nor_gradient():
    x = np.where(MASK[..., None], X, np.nan)
    with dtype_policy("float64"):
        (value,), (gradient, *_) = gradients(lambda x: masks.zero_padding(x, ops.convert_to_tensor(MASK)) * 2, x)
    np.testing.assert_array_equal(value, np.where(MASK[..., None], 2 * X, 0))
    assert np.isfinite(gradient).all()
    assert (gradient[~MASK] == 0).all()
    assert (gradient[MASK] != 0).all()


def test_places_of_words():
    first, last = np.zeros_like(MASK), np.zeros_like(MASK)
    before, after = np.zeros(MASK.shape, int), np.full(MASK.shape, MASK.shape[1] - 1)
    for row, words in enumerate(WORDS):
        first[row, words[:1]], last[row, words[-1:]] = True, True
        for position in range(MASK.shape[1]):
            before[row, position] = max([word for word in words if word < position], default=0)
            after[row, position] = min([word for word in words if word > position], default=MASK.shape[1] - 1)
    found = _run(lambda mask: (masks.is_first(mask), masks.is_last(mask)), MASK)
    for one, expected in zip(found, (first, last), strict=True):
        np.testing.assert_array_equal(one, expected)
    # The neighbours of words that have one: elsewhere the functions may return any position.
    found = _run(lambda mask: (index_before(mask), index_after(mask)), MASK)
    for one, expected, ends in zip(found, (before, after), (first, last), strict=True):
        np.testing.assert_array_equal(one[MASK & ~ends], expected[MASK & ~ends])
    np.testing.assert_array_equal(_run(lambda mask: masks.indices(mask, 1), MASK)[0], range(MASK.shape[1]))
    index = np.random.default_rng(1).integers(0, MASK.shape[1], MASK.shape).astype("int32")
    (taken,) = _run(take_words, X, index)
    np.testing.assert_array_equal(taken, [x[row] for x, row in zip(X, index)])


def test_rows_without_a_word_are_found():
    np.testing.assert_array_equal(_run(masks.not_empty, X, MASK)[0], MASK.any(axis=1))
    (found,) = _run(lambda x: masks.not_empty(x, None), EMPTY)
    np.testing.assert_array_equal(found, [False, False])
    assert masks.not_empty(X, None) is None  # every row has words


@pytest.mark.parametrize("x", [X, EMPTY])
def test_sentences_of_length_0_get_one_masked_word(x):
    mask = np.ones(x.shape[:2], bool)
    with_word, new_mask = _run(masks.pad_empty, x, mask)
    expected = x if x.shape[1] else np.zeros((2, 1, 3))
    np.testing.assert_array_equal(with_word, expected)
    np.testing.assert_array_equal(new_mask, mask if x.shape[1] else [[False], [False]])


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_masks_of_other_dtypes_become_bool(dtype):
    found = masks.check_mask(X, MASK.astype(dtype), "layer")
    np.testing.assert_array_equal(ops.convert_to_numpy(found), MASK)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (MASK[:, :4], r"expects a mask of shape \(batch, time\) for input of shape \(6, 5, 3\), but got .* \(6, 4\)"),
        (MASK[0], r"expects a mask of shape \(batch, time\)"),
        (MASK * 2, "a mask of True and False"),
    ],
)
def test_wrong_masks_are_named(mask, message):
    with pytest.raises(ValueError, match=message):
        masks.check_mask(X, mask, "layer")


def test_a_size_that_is_unknown_while_tracing_fits_any_mask():
    anything = functools.partial(masks.check_mask, SimpleNamespace(shape=(None, None, 3)), layer="layer")
    np.testing.assert_array_equal(ops.convert_to_numpy(anything(mask=MASK)), MASK)
