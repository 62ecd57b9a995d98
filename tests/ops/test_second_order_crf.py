"""The second-order CRF against the enumeration of all label sequences, with every mask of a length."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
from keras import ops

import keras_slstm
from keras_slstm.ops.crf_potentials import pack
from keras_slstm.ops.second_order_crf import pair_potentials
from tests.backend import default_cotangent, dtype_policy, gradients, outputs, to_numpy
from tests.oracles import crf as oracle
from tests.oracles.differences import central_differences

K, TIME = 3, 4
MASK = np.array(list(itertools.product([True, False], repeat=TIME)), bool)
_RNG = np.random.default_rng(0)
UNARY = 2 * _RNG.normal(size=(len(MASK), TIME, K))
FIRST, SECOND = 2 * _RNG.normal(size=(K, K)), 2 * _RNG.normal(size=(K, K, K))
LABELS = np.where(_RNG.random(MASK.shape) < 0.3, -1, _RNG.integers(0, K, MASK.shape))
LABELS[~MASK] = 99


def enumerated(row, unary, first, second):
    """The scores of all sequences of labels of a row."""
    words = oracle.words_of(MASK[row])
    scores = {}
    for y in itertools.product(range(K), repeat=len(words)):
        score = sum(unary[t, label] for t, label in zip(words, y))
        score += sum(first[pair] for pair in itertools.pairwise(y))
        scores[y] = score + sum(second[three] for three in zip(y, y[1:], y[2:]))
    return scores


def log_likelihood(row, labels, *scores):
    every = enumerated(row, *scores)
    wanted = labels[oracle.words_of(MASK[row])]
    agree = {y: s for y, s in every.items() if all(a in (-1, b) for a, b in zip(wanted, y))}
    return oracle.log_partition(agree) - oracle.log_partition(every)


def packed(unary, first, second):
    return pack(*pair_potentials(unary, first, second, ops.convert_to_tensor(MASK)))


EVERY = [enumerated(row, UNARY[row], FIRST, SECOND) for row in range(len(MASK))]


def test_quantities_equal_enumeration():
    def compute(*given):
        potentials = packed(*given)
        return (
            keras_slstm.crf_log_partition(potentials),
            keras_slstm.second_order_crf_log_likelihood(potentials, LABELS),
            keras_slstm.second_order_crf_marginals(potentials),
            keras_slstm.second_order_crf_decode(potentials),
            keras_slstm.crf_entropy(potentials),
        )

    with dtype_policy("float64"):
        found = outputs(compute, UNARY, FIRST, SECOND)
    expected = (
        [oracle.log_partition(scores) for scores in EVERY],
        [log_likelihood(row, LABELS[row], UNARY[row], FIRST, SECOND) for row in range(len(MASK))],
        [oracle.marginals(scores, MASK[row], K) for row, scores in enumerate(EVERY)],
        [oracle.in_place(max(scores, key=scores.get), MASK[row]) for row, scores in enumerate(EVERY)],
        [-sum(p * np.log(p) for p in oracle.probabilities(scores).values()) for scores in EVERY],
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, np.array(other), rtol=1e-9, atol=1e-9)


def test_gradients_of_the_likelihood_equal_finite_differences():
    def compute(*given):
        return keras_slstm.second_order_crf_log_likelihood(packed(*given), LABELS)

    def expected(unary, first, second):
        weights = default_cotangent((len(MASK),))
        rows = range(len(MASK))
        return sum(weights[row] * log_likelihood(row, LABELS[row], unary[row], first, second) for row in rows)

    with dtype_policy("float64"):
        _, found = gradients(compute, UNARY, FIRST, SECOND)
    np.testing.assert_allclose(
        found[1], central_differences(lambda x: expected(UNARY, x, SECOND), FIRST), rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(
        found[2], central_differences(lambda x: expected(UNARY, FIRST, x), SECOND), rtol=1e-6, atol=1e-7
    )
    weights = default_cotangent((len(MASK),))
    for row in range(len(MASK)):
        one = central_differences(
            lambda x, row=row: weights[row] * log_likelihood(row, LABELS[row], x, FIRST, SECOND), UNARY[row]
        )
        np.testing.assert_allclose(found[0][row], one, rtol=1e-6, atol=1e-7)


def test_other_tensors_are_refused():
    with pytest.raises(ValueError, match="output of a `SecondOrderCRF` layer"):
        keras_slstm.second_order_crf_decode(keras_slstm.CRF(4)(np.zeros((2, 3, 4), "float32")))
    potentials = keras_slstm.SecondOrderCRF(2)(np.zeros((2, 3, 4), "float32"))
    with pytest.raises(ValueError, match="0 to 1"):
        keras_slstm.second_order_crf_log_likelihood(potentials, np.full((2, 3), 2))


def test_an_empty_batch_has_a_scalar_loss():
    potentials = keras_slstm.SecondOrderCRF(2)(np.zeros((0, 4, 5), "float32"))
    assert to_numpy(keras_slstm.SecondOrderCRFLoss()(np.zeros((0, 4), int), potentials)) == 0
    assert keras.ops.shape(keras_slstm.second_order_crf_marginals(potentials)) == (0, 4, 2)
