"""Viterbi decoding in NumPy, whose operations cost a third of PyTorch's on a CPU."""

from __future__ import annotations

import numpy as np

# The scores are shifted each time after this many words; otherwise, long sentences would lose precision.
SHIFTED_AFTER = 16


def best_labels(unary: np.ndarray, transitions: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The highest-scoring labels, like the equation of the same name, from the parts of the potentials."""
    batch, time, labels = unary.shape
    pairwise = transitions.ndim == 4
    row = np.arange(batch)
    # The words of each sentence first, then its masked positions, so that no step needs the mask.
    position = np.argsort(~mask, axis=1, kind="stable").T
    scores = unary[row, position]  # those of the best sequences up to each word
    sums, message = np.empty((labels, batch, labels), unary.dtype), np.empty((batch, labels), unary.dtype)
    into = transitions if pairwise else transitions[:, None]
    for t in range(1, time):
        if pairwise:
            into = transitions[row, position[t]].swapaxes(0, 1)
        np.add(scores[t - 1].T[:, :, None], into, out=sums)  # [from, sentence, to]: the fastest maximum
        best = scores[t]
        best += np.maximum.reduce(sums, axis=0, out=message)
        if t % SHIFTED_AFTER == 0:
            best -= best.max(axis=1, keepdims=True)

    # Backwards from the last word of each sentence.
    steps = np.arange(time)[:, None]
    reversed_index = np.where(steps < mask.sum(axis=1), mask.sum(axis=1) - 1 - steps, steps)
    scores, position = scores[reversed_index, row], position[reversed_index, row]
    found = np.empty((time, batch), "int32")
    label = found[0] = scores[0].argmax(axis=1)
    into_label = None if pairwise else np.ascontiguousarray(transitions.T)
    for t in range(1, time):
        best = scores[t]
        best += transitions[row, position[t - 1], :, label] if into_label is None else into_label.take(label, axis=0)
        label = found[t] = best.argmax(axis=1)
    result = np.empty((batch, time), "int32")
    result[row, position] = found
    result[~mask] = 0
    return result
