"""Scores as distributions over integers (Tai, Socher and Manning, 2015, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np


class ScoreRange:
    """The scores from `low` to `high`, with one label per integer in that range.

    A score y is represented by the distribution over its two neighbouring integers with expectation y: p_i = y -
    floor(y) for i = floor(y) + 1, floor(y) - y + 1 for i = floor(y), 0 otherwise.

    Args:
        limits: Lowest and highest score, integers.

    Raises:
        ValueError: If they are not two integers, the lower one first.
    """

    def __init__(self, limits: Any):
        if (
            not isinstance(limits, (tuple, list))
            or len(limits) != 2
            or not all(isinstance(limit, Integral) and not isinstance(limit, bool) for limit in limits)
            or limits[0] >= limits[1]
        ):
            raise ValueError(f"`score_range` must be two integers, the lower one first, but got {limits!r}.")
        self.low, self.high = (int(limit) for limit in limits)
        self.levels = np.arange(self.low, self.high + 1, dtype=np.float64)

    def encode(self, scores: Iterable[float]) -> np.ndarray:
        """The distributions of scores, `(scores, levels)` float32.

        Raises:
            ValueError: If a score is not a number within the range; the message names its position.
        """
        scores = list(scores)
        for position, score in enumerate(scores):
            if not isinstance(score, Real) or not self.low <= float(score) <= self.high:
                raise ValueError(f"Scores must be from {self.low} to {self.high}, but got {score!r} at {position}.")
        distance = np.abs(np.array(scores, np.float64)[:, None] - self.levels)
        return np.maximum(1 - distance, 0).astype(np.float32)

    def decode(self, distributions: np.ndarray) -> np.ndarray:
        """The expected scores of distributions, `(scores,)` float64."""
        return distributions.astype(np.float64) @ self.levels
