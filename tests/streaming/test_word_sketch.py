"""Counts in bounded memory, compared with exact counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from keras_slstm.streaming.word_sketch import WordSketch

pytestmark = pytest.mark.backends("torch")  # no tensors


def _words(seed, number=60_000):
    return [f"w{rank}" for rank in np.random.default_rng(seed).zipf(1.2, number)]


def _count(words, capacity, block=500):
    sketch = WordSketch(capacity)
    for start in range(0, len(words), block):
        sketch.update(words[start : start + block])
        assert len(sketch.counts) <= capacity
    return sketch


def _check(sketch, words):
    exact = Counter(words)
    for word, count in exact.items():
        assert count - sketch.error <= sketch.counts[word] <= count
    assert set(sketch.counts) <= set(exact)


def test_counts_are_exact_below_the_capacity():
    words = _words(0)
    sketch = _count(words, 10**6)
    assert sketch.counts == Counter(words)
    assert sketch.error == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_error_bounds_each_count(seed):
    words = _words(seed)
    sketch = _count(words, 2000)
    assert sketch.error > 0
    _check(sketch, words)


@pytest.mark.parametrize("seed", range(3))
def test_frequent_words_are_exact(seed):
    words = _words(seed)
    sketch = _count(words, 2000)
    frequent = [(word, count) for word, count in Counter(words).most_common(50)]
    assert [(word, sketch.counts[word]) for word, _ in frequent] == frequent


def test_the_count_of_a_late_word_is_within_the_error():
    words = [f"w{i}" for i in range(5000)] + ["late"] * 30 + [f"v{i}" for i in range(5000)]
    _check(_count(words, 1000, block=7), words)


def test_merged_sketches_bound_the_sum():
    words = _words(3)
    sketch = _count(words[:30_000], 2000)
    sketch.merge(_count(words[30_000:], 2000))
    _check(sketch, words)
    assert len(sketch.counts) <= 2000
