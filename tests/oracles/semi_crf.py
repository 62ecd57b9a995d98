"""A semi-Markov CRF by enumeration of all segmentations of one sentence, in float64.

A segmentation is a tuple of `(first word, length, label)`, with words counted without the masked positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

Segments = tuple[tuple[int, int, int], ...]


def segmentations(words: int, longest: int, labels: int, start: int = 0) -> Iterator[Segments]:
    if start == words:
        yield ()
        return
    for length in range(1, min(longest, words - start) + 1):
        for label in range(labels):
            for rest in segmentations(words, longest, labels, start + length):
                yield ((start, length, label), *rest)


def enumerate_scores(unary, begins, ends, durations, transitions, mask) -> dict[Segments, float]:
    places = np.flatnonzero(mask)
    scores = {}
    for segments in segmentations(len(places), len(durations), unary.shape[1]):
        score, before = 0.0, None
        for start, length, y in segments:
            own = places[start : start + length]
            score += begins[own[0], y] + unary[own, y].sum() + ends[own[-1], y] + durations[length - 1, y]
            score += 0.0 if before is None else transitions[before, y]
            before = y
        scores[segments] = score
    return scores


def in_place(segments: Segments, mask: np.ndarray) -> np.ndarray:
    """The label of each segment at its first word, -1 elsewhere."""
    placed, places = np.full(len(mask), -1), np.flatnonzero(mask)
    for start, _, y in segments:
        placed[places[start]] = y
    return placed
