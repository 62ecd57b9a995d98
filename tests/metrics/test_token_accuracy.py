from __future__ import annotations

import numpy as np
import pytest

from keras_slstm import TokenAccuracy

LABELS = np.array([[0, 2, -1], [1, -1, -1]], "int32")
SCORES = np.eye(3, dtype="float32")[[[0, 1, 1], [1, 2, 0]]]


@pytest.mark.parametrize(("weights", "expected"), [(None, 2 / 3), ([1.0, 3.0], 4 / 5)])
def test_words_without_a_label_do_not_count(weights, expected):
    metric = TokenAccuracy()
    for _ in range(2):  # a sum over batches
        sample_weight = None if weights is None else np.array(weights, "float32")
        metric.update_state(LABELS, SCORES, sample_weight=sample_weight)
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)


def test_words_count_equally_in_batches_of_different_lengths():
    metric = TokenAccuracy()
    metric.update_state(LABELS, SCORES)  # 2 of 3 words are right
    metric.update_state(np.array([[0] * 7]), np.eye(3, dtype="float32")[[[1] * 7]])  # none of 7
    assert float(metric.result()) == pytest.approx(2 / 10, abs=1e-6)


def test_without_a_label_it_is_zero():
    metric = TokenAccuracy.from_config(TokenAccuracy(name="words").get_config())
    metric.update_state(np.full((1, 3), -1, "int32"), SCORES[:1])
    assert (metric.name, float(metric.result())) == ("words", 0.0)


def test_a_weight_for_each_word():
    metric = TokenAccuracy()
    weights = np.array([[1.0, 2.0, np.nan], [4.0, np.nan, -1.0]], "float32")  # unknown labels have no effect
    metric.update_state(LABELS, SCORES, sample_weight=weights)
    assert float(metric.result()) == pytest.approx(5 / 7, abs=1e-6)


@pytest.mark.parametrize(
    ("labels", "weights", "message"),
    [
        ([[0, 3, -1], [1, -1, -1]], None, r"labels from 0 to 2, or -1 .* but got 3 at position \(0, 1\)"),
        ([[0, 2, -2], [1, -1, -1]], None, r"but got -2 at position \(0, 2\)"),
        ([[0, 2], [1, -1]], None, r"labels of shape \(batch, time\) = \(2, 3\), but got labels of shape \(2, 2\)"),
        (LABELS, [1.0, -1.0], r"sample weights that are finite and >= 0, but got -1.0 at position \(1,\)"),
        (LABELS, [[1.0, np.nan, 1.0]] * 2, r"but got nan at position \(0, 1\)"),
        (LABELS, [1.0, 2.0, 3.0], r"sample weights of shape \(batch,\) = \(2,\) or \(batch, time\) = \(2, 3\)"),
    ],
)
def test_mismatches_are_named(labels, weights, message):
    with pytest.raises(ValueError, match=message):
        TokenAccuracy().update_state(np.array(labels), SCORES, sample_weight=weights and np.array(weights))


def test_scores_without_labels_are_refused():
    with pytest.raises(ValueError, match=r"expects scores of shape \(batch, time, labels\), but got \(2, 3\)"):
        TokenAccuracy().update_state(LABELS, SCORES[..., 0])
