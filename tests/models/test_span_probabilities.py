"""The probability of a span is the sum over all sequences of labels that mark it."""

from __future__ import annotations

import numpy as np
import pytest

import keras_slstm
from keras_slstm.models.span_probabilities import span_probabilities
from keras_slstm.text.tag_schemes import scheme_labels, tags_to_spans
from tests.backend import dtype_policy, to_numpy
from tests.oracles import crf as oracle

pytestmark = pytest.mark.short_run("torch")

LENGTHS = [4, 3]


@pytest.mark.parametrize("scheme", ["BIO", "BIOES", "BILOU", "BMES"])
def test_probabilities_are_those_of_all_sequences(scheme):
    labels = scheme_labels(["X", "Y"] if scheme == "BIO" else ["X"], scheme)
    rng = np.random.default_rng(0)
    mask = np.arange(4) < np.array(LENGTHS)[:, None]
    scores = rng.normal(size=(2, 4, len(labels)))
    with dtype_policy("float64"):
        layer = keras_slstm.CRF(labels=labels, scheme=scheme, use_kernel=False)
        potentials = to_numpy(layer(scores, mask=mask))
    allowed = keras_slstm.allowed_transitions(labels, scheme)
    expected = []
    for row, length in enumerate(LENGTHS):
        unary = np.where(mask[row][:, None], scores[row], 0)
        unary[0, ~allowed.first] = unary[length - 1, ~allowed.last] = -np.inf
        transitions = np.where(allowed.transitions, to_numpy(layer.chain_kernel), -np.inf)
        chances = oracle.probabilities(oracle.enumerate_scores(unary, transitions, mask[row]))
        totals = {}
        for y, p in chances.items():
            for span in tags_to_spans([labels[k] for k in y], scheme):
                totals[span] = totals.get(span, 0) + p
        expected.append(totals)
    with dtype_policy("float64"):
        found = span_probabilities(potentials, [list(totals) for totals in expected], LENGTHS, labels, scheme)
    for values, totals in zip(found, expected):
        assert len(totals) > 5
        np.testing.assert_allclose(values, list(totals.values()), atol=1e-9)


def test_probabilities_in_a_long_sentence():
    """They are no differences of sums over all words, which are large."""
    labels = ["O", "B-X", "I-X"]
    layer = keras_slstm.CRF(labels=labels, scheme="BIO", use_kernel=False)
    scores = 5 * np.random.default_rng(0).normal(size=(1, 800, 3))
    potentials = to_numpy(layer(scores.astype("float32")))
    spans = [[("X", start, start + 1 + start % 3) for start in range(0, 798, 9)]]
    (found,) = span_probabilities(potentials, spans, [800], labels, "BIO")
    with dtype_policy("float64"):
        (expected,) = span_probabilities(potentials.astype("float64"), spans, [800], labels, "BIO")
    assert max(expected) > 0.9
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_without_spans_and_in_iob1():
    assert span_probabilities(np.zeros((2, 7, 4)), [[], []], [4, 4], ["O", "B-X", "I-X"], "BIO") == [[], []]
    with pytest.raises(ValueError, match="IOB1"):
        span_probabilities(np.zeros((1, 7, 4)), [[]], [4], ["O", "B-X", "I-X"], "IOB1")
