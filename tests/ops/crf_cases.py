"""Test cases for CRF functions: batches with every mask of a length, random scores, and all label sequences."""

from __future__ import annotations

import functools
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.crf import FORBIDDEN
from keras_slstm.ops.crf_potentials import pack
from tests.backend import BACKEND, default_cotangent, dtype_policy, gradients, outputs, to_numpy
from tests.oracles import crf as oracle
from tests.oracles.differences import central_differences

EXACT = {"rtol": 1e-12, "atol": 1e-12}
FORMS = ("shared", "pairwise")


@functools.cache
def make_case(k, time=5, form="shared", forbid=False):
    """Return a batch with every mask of that length, random scores, and the scores of all sequences of each row."""
    rng = np.random.default_rng(k)
    mask = np.array(list(itertools.product([True, False], repeat=time)), bool).reshape(2**time, time)
    batch = len(mask)
    unary = 2 * rng.normal(size=(batch, time, k))
    transitions = 2 * rng.normal(size=(k, k) if form == "shared" else (batch, time, k, k))
    if forbid:  # like BIO: the last label may neither begin nor follow the first, and no label but it may end
        transitions[..., 0, k - 1] = -np.inf
        for row in range(batch):
            words = oracle.words_of(mask[row])
            if words:
                unary[row, words[0], k - 1] = -np.inf
                unary[row, words[-1], 1:-1] = -np.inf
    unary[~mask] = 0
    scores = [
        oracle.enumerate_scores(unary[row], transitions if form == "shared" else transitions[row], mask[row])
        for row in range(batch)
    ]
    return SimpleNamespace(
        k=k,
        time=time,
        mask=mask,
        unary=unary,
        transitions=transitions,
        scores=scores,
        packed=packed(unary, transitions, mask),
    )


def packed(unary, transitions, mask):
    """As NumPy array, float64."""
    with dtype_policy("float64"):
        tensors = (ops.convert_to_tensor(np.maximum(x, FORBIDDEN)) for x in (unary, transitions))
        return to_numpy(pack(*tensors, ops.convert_to_tensor(mask)))


def run(function, packed, mode="eager"):
    with dtype_policy("float64"):
        return gradients(function, packed, mode=mode)


def values(function, packed, mode):
    with dtype_policy("float64"):
        return outputs(function, packed, mode=mode)


def parts(packed, k):
    """The unary scores, or their gradients, and the transitions."""
    if packed.ndim == 3:
        return packed[:, :-k, :k], packed[:, -k:, :k].sum(axis=0)
    return packed[:, :, k, :k], packed[:, :, :k, :k]


CASES = [
    pytest.param(k, form, forbid, id=f"{k}-{form}{'-forbid' * forbid}")
    for k in (1, 2, 3, 4)
    for form in FORMS
    for forbid in (False, True)
    if (k > 1 or not forbid) and (BACKEND == "torch" or k == 3)  # the others compile each case anew
]


def random_labels(case, unknown):
    """Return the labels of an allowed sequence per row, some of them unknown, with any labels at masked positions."""
    rng = np.random.default_rng(0)
    labels = rng.integers(-9, 99, size=case.mask.shape)
    for row, (scores, mask) in enumerate(zip(case.scores, case.mask)):
        words = oracle.words_of(mask)
        labels[row, words] = list(scores)[rng.integers(len(scores))]
        if unknown:
            labels[row, [t for t in words if rng.random() < 0.4]] = -1
    return labels


def differences(case, expected, shape):
    """The gradients by unary scores and transitions of the sum of `expected(unary, transitions, mask, row)`."""
    weights = default_cotangent((len(case.mask), *shape))
    pairwise = case.transitions.ndim == 4
    d_unary, d_transitions = np.zeros(case.unary.shape), np.zeros(case.transitions.shape)
    for row, (unary, mask, weight) in enumerate(zip(case.unary, case.mask, weights)):
        own = case.transitions[row] if pairwise else case.transitions

        def loss(unary, transitions, mask=mask, weight=weight, row=row):
            return np.sum(expected(unary, transitions, mask, row) * weight)

        d_unary[row] = central_differences(lambda x, own=own: loss(x, own), unary)
        d_own = central_differences(lambda x, unary=unary: loss(unary, x), own)
        if pairwise:
            d_transitions[row] = d_own
        else:
            d_transitions += d_own
    return d_unary, d_transitions
