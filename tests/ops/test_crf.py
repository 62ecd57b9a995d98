from __future__ import annotations

import functools
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops import crf
from keras_slstm.ops.crf_potentials import FORBIDDEN, pack
from tests.backend import MODES, default_cotangent, dtype_policy, gradients, to_numpy
from tests.oracles import crf as oracle

EXACT = {"rtol": 1e-12, "atol": 1e-12}
FORMS = ("shared", "pairwise")


@functools.cache
def _case(k, time=5, form="shared", forbid=False):
    """Every mask of that length, in one batch, random scores, and the scores of all sequences of each row."""
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
        k=k, time=time, mask=mask, unary=unary, transitions=transitions, scores=scores, packed=_packed(unary, transitions, mask)
    )


def _packed(unary, transitions, mask):
    """As NumPy array, float64."""
    with dtype_policy("float64"):
        tensors = (ops.convert_to_tensor(np.maximum(x, FORBIDDEN)) for x in (unary, transitions))
        return to_numpy(pack(*tensors, ops.convert_to_tensor(mask)))


def _run(function, packed, mode="eager"):
    with dtype_policy("float64"):
        return gradients(function, packed, mode=mode)


def _parts(packed, k):
    """The unary scores, or their gradients, and the transitions."""
    if packed.ndim == 3:
        return packed[:, :-k, :k], packed[:, -k:, :k].sum(axis=0)
    return packed[:, :, k, :k], packed[:, :, :k, :k]


CASES = [
    pytest.param(k, form, forbid, id=f"{k}-{form}{'-forbid' * forbid}")
    for k in (1, 2, 3, 4)
    for form in FORMS
    for forbid in (False, True)
    if k > 1 or not forbid
]


@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_log_partition_is_that_of_all_sequences(k, form, forbid):
    case = _case(k, form=form, forbid=forbid)
    for mode in MODES:
        (found,), (gradient,) = _run(crf.crf_log_partition, case.packed, mode)
        np.testing.assert_allclose(found, [oracle.log_partition(scores) for scores in case.scores], **EXACT)
        weight = default_cotangent(found.shape)
        d_unary, d_transitions = _parts(gradient, k)
        pairs = zip(case.scores, case.mask)
        expected = [oracle.marginals(scores, mask, k) for scores, mask in pairs]
        np.testing.assert_allclose(d_unary, weight[:, None, None] * expected, **EXACT)
        pairs = [oracle.pair_marginals(scores, mask, k) for scores, mask in zip(case.scores, case.mask)]
        expected = weight[:, None, None, None] * pairs
        np.testing.assert_allclose(d_transitions, expected if form == "pairwise" else expected.sum((0, 1)), **EXACT)
