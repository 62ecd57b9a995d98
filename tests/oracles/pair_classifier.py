"""The classifier of pairs of Choi, Kim and Lee (2019), eq. 14 to 16, one feature at a time, in float64."""

from __future__ import annotations

import numpy as np


def features(s1: np.ndarray, s2: np.ndarray, kind: str) -> np.ndarray:
    """Phi of two sentence vectors `(d,)`."""
    absolute, product = [], []
    for a, b in zip(s1, s2):
        absolute.append(a - b if a > b else b - a)
        product.append(a * b)
    if kind == "paraphrase":
        return np.array(absolute + product)
    return np.array([*s1, *s2, *absolute, *product])


def normalise(x: np.ndarray, gamma, beta, mean, variance, epsilon: float = 1e-5) -> np.ndarray:
    """Batch normalisation of one vector by given statistics."""
    return np.array([g * (v - m) / np.sqrt(s + epsilon) + b for v, g, b, m, s in zip(x, gamma, beta, mean, variance)])


def dense(x: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """One layer without activation."""
    return np.array([sum(x[i] * kernel[i, j] for i in range(len(x))) + bias[j] for j in range(len(bias))])


def mlp(x: np.ndarray, hidden: list, norms: list) -> np.ndarray:
    """ReLU layers `(kernel, bias)`; `norms`, if any, normalise before the first and after the last layer."""
    if norms:
        x = normalise(x, *norms[0])
    for kernel, bias in hidden:
        x = np.array([max(v, 0.0) for v in dense(x, kernel, bias)])
    return normalise(x, *norms[1]) if norms else x


def softmax(x: np.ndarray) -> np.ndarray:
    """Probabilities of scores `(labels,)`."""
    weights = [np.exp(v - max(x)) for v in x]
    return np.array([weight / sum(weights) for weight in weights])


def score_distribution(score: float, low: int, high: int) -> np.ndarray:
    """Tai, Socher and Manning (2015), section 4.2: the distribution over low..high that stands for a score."""
    floor = int(np.floor(score))
    p = []
    for i in range(low, high + 1):
        if i == floor + 1:
            p.append(score - floor)
        elif i == floor:
            p.append(floor - score + 1)
        else:
            p.append(0.0)
    return np.array(p)


def pearson(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Weighted correlation."""
    total = sum(weights)
    mean_x = sum(w * a for w, a in zip(weights, x)) / total
    mean_y = sum(w * b for w, b in zip(weights, y)) / total
    covariance = sum(w * (a - mean_x) * (b - mean_y) for w, a, b in zip(weights, x, y))
    x_squares = sum(w * (a - mean_x) ** 2 for w, a in zip(weights, x))
    y_squares = sum(w * (b - mean_y) ** 2 for w, b in zip(weights, y))
    return covariance / np.sqrt(x_squares * y_squares)
