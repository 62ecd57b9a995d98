"""BCN and ESIM above their first encoder, one sentence and one word at a time, in float64."""

from __future__ import annotations

import numpy as np

from tests.oracles.pair_classifier import dense, normalise, softmax
from tests.oracles.subilstm import lstm


def bilstm(weights, words, d):
    """The states of both directions at every word; `weights` are those of Keras' `Bidirectional`, in its order."""
    forward, backward = weights[:3], weights[3:]
    return [
        np.concatenate([lstm(*forward, words[: i + 1], d), lstm(*backward, words[i:][::-1], d)])
        for i in range(len(words))
    ]


def view(word, others):
    """The mean of the other words, weighted by the softmax of their inner products with the word."""
    weights = softmax(np.array([np.dot(word, other) for other in others]))
    return sum(weight * other for weight, other in zip(weights, others))


def biattentive(words, integrator, query, maxouts, norms, d):
    """Encode a sentence like `BiattentiveEncoder`; `maxouts`: `(reduction, kernel, bias)`; `norms`: see `normalise`."""
    joined = []
    for word in words:
        context = view(word, words)
        joined.append(np.concatenate([word, word - context, word * context]))
    z = bilstm(integrator, joined, d) if words else []
    if words:
        weights = softmax(np.array([np.dot(state, query) for state in z]))
        attended = sum(weight * state for weight, state in zip(weights, z))
        output = np.concatenate([np.max(z, axis=0), np.mean(z, axis=0), np.min(z, axis=0), attended])
    else:
        output = np.zeros(8 * d)
    for index, (reduction, kernel, bias) in enumerate(maxouts):
        if norms:
            output = normalise(output, *norms[index])
        pieces = dense(output, kernel, bias)
        output = np.array([max(pieces[j : j + reduction]) for j in range(0, len(pieces), reduction)])
    return output


def local_inference(a, b, projection, composition, d):
    """Encode two sentences like `LocalInference`; `projection` is `(kernel, bias)`."""
    halves = []
    for one, other in ((a, b), (b, a)):
        compared = []
        for word in one:
            seen = view(word, other) if len(other) else 0 * word
            enhanced = np.concatenate([word, seen, word - seen, word * seen])
            compared.append(np.array([max(value, 0.0) for value in dense(enhanced, *projection)]))
        v = bilstm(composition, compared, d)
        halves += [np.mean(v, axis=0), np.max(v, axis=0)] if len(v) else [np.zeros(2 * d)] * 2
    return np.concatenate(halves)
