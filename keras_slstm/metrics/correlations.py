"""Correlations of two lists of numbers, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keras_slstm.extras import require

Numbers = Sequence[float] | np.ndarray


def pearson(one: Numbers, other: Numbers) -> float:
    """Pearson's correlation; 0 if all numbers of one side are equal."""
    return float(np.corrcoef(one, other)[0, 1]) if min(np.std(one), np.std(other)) > 0 else 0.0


def spearman(one: Numbers, other: Numbers) -> float:
    """Spearman's rank correlation; ties share their mean rank.

    Raises:
        ImportError: If SciPy is missing.
    """
    rank = require("scipy.stats", "examples").rankdata
    return pearson(rank(one), rank(other))
