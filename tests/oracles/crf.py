"""A linear-chain CRF by enumeration of all sequences of labels, one sentence at a time, in float64.

`unary` is `(time, labels)`. `transitions` is `(labels, labels)`, or `(time, labels, labels)` with the transitions into
each word. Forbidden labels and transitions score -inf.
"""

from __future__ import annotations

import itertools

import numpy as np


def words_of(mask: np.ndarray) -> list[int]:
    return [t for t in range(len(mask)) if mask[t]]


def score(unary: np.ndarray, transitions: np.ndarray, words: list[int], labels: tuple[int, ...]) -> float:
    """The score of one sequence of labels, one for each word."""
    total = 0.0
    for i, t in enumerate(words):
        total += unary[t, labels[i]]
        if i > 0:
            step = transitions if transitions.ndim == 2 else transitions[t]
            total += step[labels[i - 1], labels[i]]
    return total


def enumerate_scores(unary: np.ndarray, transitions: np.ndarray, mask: np.ndarray) -> dict[tuple[int, ...], float]:
    """The scores of all allowed sequences of labels."""
    words, k = words_of(mask), unary.shape[1]
    scores = {y: score(unary, transitions, words, y) for y in itertools.product(range(k), repeat=len(words))}
    return {y: s for y, s in scores.items() if s > -np.inf}


def log_partition(scores: dict[tuple[int, ...], float]) -> float:
    largest = max(scores.values())
    return largest + np.log(sum(np.exp(s - largest) for s in scores.values()))


def probabilities(scores: dict[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
    total = log_partition(scores)
    return {y: np.exp(s - total) for y, s in scores.items()}


def in_place(labels: tuple[int, ...], mask: np.ndarray) -> np.ndarray:
    """Labels at the positions of their words, 0 elsewhere."""
    placed = np.zeros(len(mask), int)
    placed[words_of(mask)] = labels
    return placed


def marginals(scores: dict[tuple[int, ...], float], mask: np.ndarray, k: int) -> np.ndarray:
    """The probability of each label at each word, `(time, labels)`."""
    found = np.zeros((len(mask), k))
    for y, p in probabilities(scores).items():
        for t, label in zip(words_of(mask), y):
            found[t, label] += p
    return found


def pair_marginals(scores: dict[tuple[int, ...], float], mask: np.ndarray, k: int) -> np.ndarray:
    """The probability of each transition into each word, `(time, labels, labels)`; 0 at the first word."""
    found = np.zeros((len(mask), k, k))
    for y, p in probabilities(scores).items():
        for i, t in enumerate(words_of(mask)):
            if i > 0:
                found[t, y[i - 1], y[i]] += p
    return found


def entropy(scores: dict[tuple[int, ...], float]) -> float:
    return -sum(p * np.log(p) for p in probabilities(scores).values() if p > 0)


def k_best(scores: dict[tuple[int, ...], float], k: int) -> list[tuple[tuple[int, ...], float]]:
    return sorted(scores.items(), key=lambda item: -item[1])[:k]


def log_likelihood(scores: dict[tuple[int, ...], float], mask: np.ndarray, labels: np.ndarray) -> float:
    """The log of the probability of all sequences that agree with the labels; -1 agrees with all."""
    words = words_of(mask)
    agree = {y: s for y, s in scores.items() if all(labels[t] in (-1, y[i]) for i, t in enumerate(words))}
    return log_partition(agree) - log_partition(scores) if agree else -np.inf


def token_log_likelihood(scores: dict[tuple[int, ...], float], mask: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The log of the probability of each label, given those before it."""
    found, seen, before = np.zeros(len(mask)), np.zeros_like(mask), 0.0
    for t in words_of(mask):
        seen[t] = True
        now = log_likelihood(scores, mask, np.where(seen, labels, -1))
        found[t], before = now - before, now
    return found


def recursive_log_partition(unary: np.ndarray, transitions: np.ndarray) -> float:
    """The log-partition of a sentence too long to enumerate; all its words are real."""
    alpha = unary[0]
    for u in unary[1:]:
        alpha = np.array([np.logaddexp.reduce(alpha + transitions[:, j]) + u[j] for j in range(len(u))])
    return float(np.logaddexp.reduce(alpha))


def recursive_best(unary: np.ndarray, transitions: np.ndarray) -> tuple[list[int], float]:
    """The best sequence of a sentence too long to enumerate, and its score; all its words are real."""
    best, backpointers = unary[0], []
    for u in unary[1:]:
        backpointers.append([int(np.argmax(best + transitions[:, j])) for j in range(len(u))])
        best = np.array([np.max(best + transitions[:, j]) + u[j] for j in range(len(u))])
    labels = [int(np.argmax(best))]
    for backpointer in reversed(backpointers):
        labels.append(backpointer[labels[-1]])
    return labels[::-1], float(np.max(best))


def potentials(
    h: np.ndarray,
    mask: np.ndarray,
    weights: dict[str, np.ndarray],
    first: np.ndarray,
    follows: np.ndarray,
    last: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Unary scores and transitions of one sentence from its vectors h, `(time, features)`, and a layer's weights.

    first, follows and last say which labels may begin, follow each other, and end. Transitions differ from word to
    word where the kernel has a column for each pair of labels.
    """
    k, words = len(first), words_of(mask)
    pairwise = "left_kernel" in weights
    unary = np.zeros((len(h), k))
    transitions = np.zeros((len(h), k, k))
    for i, t in enumerate(words):
        for y in range(k):
            if pairwise:
                if i == 0:
                    unary[t, y] = np.dot(h[t], weights["left_kernel"][:, y])
            elif "kernel" in weights:
                unary[t, y] = np.dot(h[t], weights["kernel"][:, y]) + weights["bias"][y]
            else:
                unary[t, y] = h[t, y]
            if i == 0:
                unary[t, y] += weights["left_boundary"][y] if "left_boundary" in weights else 0.0
                unary[t, y] += 0.0 if first[y] else -np.inf
            if i == len(words) - 1:
                unary[t, y] += weights["right_boundary"][y] if "right_boundary" in weights else 0.0
                unary[t, y] += 0.0 if last[y] else -np.inf
            for before in range(k):
                transitions[t, before, y] = weights["chain_kernel"][before, y]
                if pairwise:
                    transitions[t, before, y] += np.dot(h[t], weights["kernel"][:, before * k + y])
                transitions[t, before, y] += 0.0 if follows[before, y] else -np.inf
    return unary, transitions
