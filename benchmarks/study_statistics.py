"""Confidence intervals and significance tests for the difference between two rows of a study."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Counts = NDArray[np.float64]
RESAMPLES = 10_000
AT_ONCE = 200  # resamples at a time, to bound the memory
CONFIDENCE = 0.95


def score(counts: Counts) -> Counts:
    """Return the F1 over all test items from the counts of correct, predicted and true spans.

    If each item has exactly one prediction and one true label, this is the accuracy.

    Args:
        counts: Shape `(..., items, 3)`.
    """
    right, found, wanted = np.moveaxis(counts.sum(axis=-2), -1, 0)
    return 2 * right / np.maximum(found + wanted, 1)


def paired_interval(*pairs: tuple[Counts, Counts]) -> tuple[float, float]:
    """Return the interval of the difference of mean scores, over seeds and test items.

    The test items are resampled (bootstrap). The mean over the seeds varies as in Student's t test, because a bootstrap
    of three or five seeds gives intervals that are far too narrow.

    Args:
        pairs: For each of the data sets over which to average, the counts of the row and of the baseline, shape
            `(seeds, items, 3)`, for the same seeds and items.
    """
    over_items = np.mean([_resampled_differences(*pair, seed=seed) for seed, pair in enumerate(pairs)], axis=0)
    over_seeds = _errors_over_seeds([score(row) - score(baseline) for row, baseline in pairs])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(over_items + over_seeds, [tail, 1 - tail])
    return float(low), float(high)


def _resampled_differences(row: Counts, baseline: Counts, seed: int) -> Counts:
    """Return the differences of the mean scores in `RESAMPLES` resamples, each with the same items of both rows."""
    rng = np.random.default_rng(seed)
    seeds, items, _ = row.shape
    by_item = np.concatenate([row, baseline], axis=-1).swapaxes(0, 1).reshape(items, -1)
    differences: list[float] = []
    while len(differences) < RESAMPLES:
        # A resample is stored as the number of times it contains each item, so its counts are one matrix product.
        times = rng.multinomial(items, np.full(items, 1 / items), size=min(AT_ONCE, RESAMPLES - len(differences)))
        sums = (times @ by_item).reshape(len(times), seeds, 2, 3)
        by_seed = score(sums[..., 0, None, :]) - score(sums[..., 1, None, :])
        differences += by_seed.mean(axis=1).tolist()
    return np.array(differences)


def _errors_over_seeds(differences: list[Counts]) -> Counts:
    """Return `RESAMPLES` possible errors of the mean, in random order.

    They have Student's t distribution. For several data sets, its degrees of freedom are those of Welch and
    Satterthwaite.

    Args:
        differences: The differences of each data set by seed.
    """
    variances = [np.var(of, ddof=1) / len(of) if len(of) > 1 else 0.0 for of in differences]
    total = sum(variances)
    if total == 0:
        return np.zeros(RESAMPLES)
    freedom = total**2 / sum(variance**2 / (len(of) - 1) for variance, of in zip(variances, differences) if variance)
    errors = stats.t.ppf((np.arange(RESAMPLES) + 0.5) / RESAMPLES, freedom) * np.sqrt(total) / len(differences)
    return np.random.default_rng(len(differences)).permutation(errors)


def interval_over_seeds(differences: list[float]) -> tuple[float, float]:
    """Return Student's t interval of the mean of paired differences, for metrics that are not sums over test items."""
    interval = stats.ttest_1samp(differences, 0.0).confidence_interval(CONFIDENCE)
    return float(interval.low), float(interval.high)


def mcnemar(row: Counts, baseline: Counts) -> float:
    """Return the p-value of the exact McNemar test.

    An item counts as correct if most seeds get it completely right.

    Args:
        row: The counts, shape `(seeds, items, 3)`.
        baseline: The counts of the baseline.
    """
    right = [np.mean((of[..., 0] == of[..., 1]) & (of[..., 0] == of[..., 2]), axis=0) > 0.5 for of in (row, baseline)]
    only_row, only_baseline = int(np.sum(right[0] & ~right[1])), int(np.sum(right[1] & ~right[0]))
    if not only_row + only_baseline:
        return 1.0
    return float(stats.binomtest(only_row, only_row + only_baseline).pvalue)


def wilcoxon(differences: list[float]) -> float | None:
    """Return the p-value of Wilcoxon's signed-rank test over the differences of several data sets.

    Return None for fewer than six data sets, where the smallest possible p-value, 2 / 2**n, is above 0.05.
    """
    if 2 / 2 ** len(differences) > 0.05:
        return None
    return float(stats.wilcoxon(differences).pvalue) if any(differences) else 1.0
