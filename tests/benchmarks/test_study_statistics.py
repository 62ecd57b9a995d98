"""The statistics of the studies, compared with SciPy and scikit-learn."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from benchmarks import study_statistics


def test_score_is_f1():
    rng = np.random.default_rng(0)
    wanted, found = rng.integers(2, size=(2, 50))
    counts = np.stack([wanted & found, found, wanted], axis=-1).astype("float64")
    assert study_statistics.score(counts) == pytest.approx(f1_score(wanted, found))


def test_the_interval_is_that_of_scipy_for_one_seed(monkeypatch):
    rng = np.random.default_rng(0)
    right = rng.random((2, 1, 300)) < [[[0.8]], [[0.6]]]
    one, other = (np.stack([of, np.ones_like(of), np.ones_like(of)], axis=-1).astype("float64") for of in right)
    found = study_statistics.paired_interval((one, other))
    by_item = (right[0, 0] * 1.0 - right[1, 0],)
    known = stats.bootstrap(by_item, np.mean, method="percentile", rng=rng).confidence_interval
    np.testing.assert_allclose(found, known, atol=0.01)


def test_the_interval_of_an_average_over_data_sets_is_that_of_scipy():
    rng = np.random.default_rng(0)
    right = [rng.random((2, 1, items)) < [[[0.8]], [[0.6]]] for items in (300, 40)]
    ones = [np.ones_like(of, "float64") for of in right]
    counts = [np.stack([of, one, one], axis=-1).astype("float64") for of, one in zip(right, ones)]
    found = study_statistics.paired_interval(*((of[0], of[1]) for of in counts))
    by_item = [of[0, 0] * 1.0 - of[1, 0] for of in right]
    known = stats.bootstrap(
        by_item, lambda a, b, axis: (a.mean(axis) + b.mean(axis)) / 2, method="percentile", rng=rng
    ).confidence_interval
    np.testing.assert_allclose(found, known, atol=0.01)


def _seeds_and_items(rng, seeds, items, spread):
    """The counts of two rows that are equally good on average, but not for each seed."""
    chances = 1 / (1 + np.exp(-rng.normal(1.0, 1.0, items) - rng.normal(0.0, spread, (2, seeds, 1))))
    right = (rng.random((2, seeds, items)) < chances).astype("float64")
    ones = np.ones_like(right)
    return np.stack([right, ones, ones], axis=-1)


@pytest.mark.parametrize(("sets", "seeds"), [(1, 3), (1, 5), (2, 3)])
def test_rows_that_differ_by_chance_rarely_differ_significantly(monkeypatch, sets, seeds):
    monkeypatch.setattr(study_statistics, "RESAMPLES", 400)
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(200):
        low, high = study_statistics.paired_interval(*(_seeds_and_items(rng, seeds, 100, 0.8) for _ in range(sets)))
        found += low > 0 or high < 0
    assert found <= 0.05 * 200 + 2 * 3  # two standard errors more


def test_the_interval_is_that_of_student_if_all_items_are_alike():
    differences = [0.1, 0.2, 0.6]
    one = np.stack([np.full((50, 3), [1 + of, 1, 1]) for of in differences])
    found = study_statistics.paired_interval((one, np.ones((3, 50, 3))))
    np.testing.assert_allclose(found, study_statistics.interval_over_seeds(differences), rtol=0.01)


def test_several_data_sets_have_the_degrees_of_freedom_of_welch_and_satterthwaite():
    """For two data sets, the error of the mean is that of Welch's t test."""
    sets = [np.array([0.1, 0.2, 0.6]), -np.array([0.1, 0.15, 0.2, 0.3])]
    welch = stats.ttest_ind(sets[0], -sets[1], equal_var=False).confidence_interval(0.95)
    counts = [np.stack([np.full((50, 3), [1 + of, 1, 1]) for of in differences]) for differences in sets]
    found = study_statistics.paired_interval(*((of, np.ones_like(of)) for of in counts))
    np.testing.assert_allclose(found, np.array(welch) / 2, rtol=0.01)


def test_seeds_that_differ_widen_the_interval():
    counts = np.ones((3, 200, 3))
    other = counts.copy()
    same, wide = other.copy(), other.copy()
    same[:, :100, 0] = 0
    wide[0, :, 0] = 0
    widths = [np.diff(study_statistics.paired_interval((of, other)))[0] for of in (same, wide)]
    assert widths[0] < 0.2 < 0.6 < widths[1]


def test_mcnemar_counts_items_of_which_one_side_is_right():
    one = np.ones((1, 20, 3))
    other = one.copy()
    other[0, :8, 0] = 0
    assert study_statistics.mcnemar(one, other) == pytest.approx(2 / 2**8)
    assert study_statistics.mcnemar(one, one) == 1.0


def test_wilcoxon():
    assert study_statistics.wilcoxon([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) == pytest.approx(2 / 2**6)
    assert study_statistics.wilcoxon([0.0] * 6) == 1.0
    assert study_statistics.wilcoxon([0.1, 0.2, 0.3, 0.4, 0.5]) is None


def test_few_seeds_have_a_wide_interval():
    low, high = study_statistics.interval_over_seeds([0.01, 0.02, 0.03])
    assert low < 0 < 0.02 < high
