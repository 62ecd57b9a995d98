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


def test_without_a_label_it_is_zero():
    metric = TokenAccuracy.from_config(TokenAccuracy(name="words").get_config())
    metric.update_state(np.full((1, 3), -1, "int32"), SCORES[:1])
    assert (metric.name, float(metric.result())) == ("words", 0.0)
