"""`CRFAccuracy` averages over words, however they are divided into batches."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from keras_slstm import CRFAccuracy
from keras_slstm.ops.crf_potentials import pack

MASK = np.array([[1, 1, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0]], bool)
# Without transitions, the best label of each word has the largest score.
BEST = np.array([[0, 1, 2, 1], [0, 2, 0, 0], [0, 0, 0, 0]])
LABELS = np.array([[0, 1, 0, -1], [0, 2, 1, 0], [0, 0, 0, 0]])  # right, right, wrong, unknown; right, wrong


def potentials(rows=slice(None)):
    unary = np.where(MASK[..., None], 5.0 * np.eye(3)[BEST], 0).astype("float32")
    parts = (unary[rows], np.zeros((3, 3), "float32"), MASK[rows])
    return pack(*map(ops.convert_to_tensor, parts))


def test_counts_known_real_words():
    metric = CRFAccuracy()
    metric.update_state(LABELS, potentials())
    assert float(metric.result()) == pytest.approx(3 / 5)


def test_result_does_not_depend_on_batches():
    metric = CRFAccuracy()
    for rows in (slice(0, 1), slice(1, 3)):
        metric.update_state(LABELS[rows], potentials(rows))
    assert float(metric.result()) == pytest.approx(3 / 5)


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_weights_of_sentences(shape):
    metric = CRFAccuracy()
    metric.update_state(LABELS, potentials(), sample_weight=np.array([2.0, 1.0, 5.0]).reshape(shape))
    assert float(metric.result()) == pytest.approx((2 * 2 + 1) / (2 * 3 + 2))


def test_weights_of_words():
    weights = np.array([[1, 0, 1, 1], [1, 3, 0, 1], [1, 1, 1, 1]], "float32")
    metric = CRFAccuracy()
    metric.update_state(LABELS, potentials(), sample_weight=weights)
    assert float(metric.result()) == pytest.approx(4 / 5)
