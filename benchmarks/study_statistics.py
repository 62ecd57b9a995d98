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
    """Return the bootstrap interval of the difference of mean scores, over seeds and test items.

    Args:
        pairs: For each of the data sets over which to average, the counts of the row and of the baseline, shape
            `(seeds, items, 3)`, for the same seeds and items.
    """
    differences = [_resampled_differences(*pair, seed=seed) for seed, pair in enumerate(pairs)]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.mean(differences, axis=0), [tail, 1 - tail])
    return float(low), float(high)


def _resampled_differences(row: Counts, baseline: Counts, seed: int) -> Counts:
    """Return the differences of `RESAMPLES` resamples, each with the same seeds and items of both rows."""
    rng = np.random.default_rng(seed)
    seeds, items, _ = row.shape
    by_item = np.concatenate([row, baseline], axis=-1).swapaxes(0, 1).reshape(items, -1)
    differences: list[float] = []
    while len(differences) < RESAMPLES:
        # A resample is stored as the number of times it contains each item, so its counts are one matrix product.
        times = rng.multinomial(items, np.full(items, 1 / items), size=AT_ONCE)
        sums = (times @ by_item).reshape(AT_ONCE, seeds, 2, 3)
        by_seed = score(sums[..., 0, None, :]) - score(sums[..., 1, None, :])
        chosen = rng.integers(seeds, size=(AT_ONCE, seeds))
        differences += np.take_along_axis(by_seed, chosen, axis=1).mean(axis=1).tolist()
    return np.array(differences)


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
