"""The objective of a logistic regression with soft labels, one example and one level at a time, in float64."""

from __future__ import annotations

import numpy as np


def soft_label_gradient(W, b, x, distributions, C):
    """Gradient of C sum_i KL(p_i | softmax(W x_i + b)) + |W|^2 / 2 with respect to W and b: zero at its minimum."""
    gradient_W, gradient_b = np.array(W, float), np.zeros(len(b))
    for features, p in zip(x, distributions):
        z = [float(w @ features) + offset for w, offset in zip(W, b)]
        e = [np.exp(value - max(z)) for value in z]
        for level in range(len(b)):
            error = C * (e[level] / sum(e) - p[level])
            gradient_W[level] += error * features
            gradient_b[level] += error
    return gradient_W, gradient_b
