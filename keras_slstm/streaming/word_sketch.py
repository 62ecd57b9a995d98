"""Counts of words in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Self

from keras_slstm.validation import check_integer


class WordSketch:
    """Counts words in bounded memory.

    Counts are exact while there are at most `capacity` distinct words. Beyond that, the sketch drops the rarest half
    (lossy counting). Then a word may have occurred up to `error` more times than counted, but never fewer times; a word
    that occurred more than `error` times is never missing. A word that was never dropped is counted exactly, which
    holds for the frequent words of a text.

    Args:
        capacity: The maximum number of distinct words to keep.

    Raises:
        ValueError: If `capacity` is below 2.

    Example:

    >>> sketch = WordSketch(capacity=4)
    >>> sketch.update("a b a c a b d a b".split())
    >>> sketch.update(["e"])
    >>> sketch.counts["a"], sketch.counts["b"], sketch.error
    (4, 3, 1)
    """

    def __init__(self, capacity: int = 2_000_000):
        self.capacity = check_integer("capacity", capacity, 2)
        self.counts: Counter[str] = Counter()
        self.error = 0

    def update(self, words: Iterable[str]) -> None:
        """Count words."""
        self.counts.update(words)
        self._forget()

    def add(self, counts: Mapping[str, int]) -> None:
        """Add counts of words."""
        self.counts.update(counts)
        self._forget()

    def merge(self, other: Self) -> None:
        """Add the counts of another sketch, such as that of another process."""
        self.error += other.error
        self.add(other.counts)

    def _forget(self) -> None:
        if len(self.counts) <= self.capacity:
            return
        ranked = sorted(self.counts.values(), reverse=True)
        rare = ranked[self.capacity // 2]  # words with this count are dropped, too, so at most half of them are left
        self.counts = Counter({word: count for word, count in self.counts.items() if count > rare})
        self.error += rare
