"""A small set of padded lengths for sentences of many lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def bucket_lengths(lengths: Sequence[int] | np.ndarray, most: int) -> np.ndarray:
    """Choose at most `most` padded lengths that minimise the total padding.

    A model is compiled once for each padded length, and a padded word costs as much time as a real one.

    Args:
        lengths: The length of each sentence.
        most: Maximum number of distinct padded lengths.

    Returns:
        The padded length of each sentence: one of `lengths`, and at least its own length.

    Example:

    >>> bucket_lengths([3, 4, 9, 10, 10], most=2).tolist()
    [4, 4, 10, 10, 10]
    """
    lengths = np.asarray(lengths)
    bounds = bucket_bounds(*np.unique(lengths, return_counts=True), most)
    return bounds[np.searchsorted(bounds, lengths)]


def bucket_bounds(values: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    """The padded lengths, ascending, given the number of sentences of each length; see `bucket_lengths`.

    Args:
        values: The lengths that occur, ascending.
        counts: The number of sentences of each of these lengths.
        most: Maximum number of padded lengths.

    Example:

    >>> bucket_bounds(np.array([3, 4, 9, 10]), np.array([1, 1, 1, 2]), most=2).tolist()
    [4, 10]
    """
    n = len(values)
    if n <= most:
        return values
    shorter = np.concatenate([[0], np.cumsum(counts)])  # number of sentences shorter than each length
    # cost[j]: padded words of the j shortest lengths. starts[k][j]: where the last of their k + 1 buckets begins.
    cost = np.concatenate([[0.0], np.full(n, np.inf)])
    starts = []
    for _ in range(most):
        start = np.zeros(n + 1, int)
        extended = np.zeros(n + 1)
        for j in range(1, n + 1):
            costs = cost[:j] + values[j - 1] * (shorter[j] - shorter[:j])
            start[j] = costs.argmin()
            extended[j] = costs[start[j]]
        cost = extended
        starts.append(start)
    ends, j = [], n
    for start in reversed(starts):
        ends.append(j)
        j = start[j]
    return values[np.array(ends[::-1]) - 1]
