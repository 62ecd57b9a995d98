"""Summaries of scores: over several runs, and by the length of texts."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence


def correct_by_length(lengths: Sequence[int], correct: Sequence[bool]) -> dict[str, list[int]]:
    """For each length, the number of sentences, and how many of them were classified correctly."""
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for length, is_correct in zip(lengths, correct, strict=True):
        counts[length][0] += 1
        counts[length][1] += bool(is_correct)
    return {str(length): counts[length] for length in sorted(counts)}


def mean_and_spread(values: Iterable[float]) -> tuple[float, float]:
    """Mean and standard deviation (of a sample; 0 for a single value)."""
    values = list(values)
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0
