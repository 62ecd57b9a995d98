"""Correlations of two lists of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from keras_slstm.metrics.correlations import pearson, spearman


def test_pearson_is_the_covariance_over_both_deviations():
    x, y = np.random.default_rng(0).normal(size=(2, 30))
    covariance = sum((a - np.mean(x)) * (b - np.mean(y)) for a, b in zip(x, y))
    both = sum((a - np.mean(x)) ** 2 for a in x) * sum((b - np.mean(y)) ** 2 for b in y)
    assert pearson(x, y) == pytest.approx(covariance / both**0.5)
    assert pearson([1, 1, 1], [1, 2, 3]) == pearson([1, 2, 3], [2, 2, 2]) == 0


def test_spearman_depends_only_on_the_order():
    pytest.importorskip("scipy")
    assert spearman([1, 2, 3, 4], [1, 8, 27, 1000]) == pytest.approx(1)
    assert spearman([1, 2, 2, 4], [9, 3, 3, 1]) == pytest.approx(-1)  # equal ones share a rank
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
