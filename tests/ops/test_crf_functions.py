from __future__ import annotations

import functools
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops import crf_functions as crf
from keras_slstm.ops.crf import FORBIDDEN
from keras_slstm.ops.crf_potentials import pack
from tests.backend import BACKEND, MODES, default_cotangent, dtype_policy, gradients, outputs, to_numpy
from tests.oracles import crf as oracle
from tests.oracles.differences import central_differences

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
        k=k,
        time=time,
        mask=mask,
        unary=unary,
        transitions=transitions,
        scores=scores,
        packed=_packed(unary, transitions, mask),
    )


def _packed(unary, transitions, mask):
    """As NumPy array, float64."""
    with dtype_policy("float64"):
        tensors = (ops.convert_to_tensor(np.maximum(x, FORBIDDEN)) for x in (unary, transitions))
        return to_numpy(pack(*tensors, ops.convert_to_tensor(mask)))


def _run(function, packed, mode="eager"):
    with dtype_policy("float64"):
        return gradients(function, packed, mode=mode)


def _values(function, packed, mode):
    with dtype_policy("float64"):
        return outputs(function, packed, mode=mode)


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
    if (k > 1 or not forbid) and (BACKEND == "torch" or k == 3)  # the others compile each case anew
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


@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_decoding_is_the_best_of_all_sequences(k, form, forbid):
    case = _case(k, form=form, forbid=forbid)
    expected = [oracle.in_place(oracle.k_best(scores, 1)[0][0], mask) for scores, mask in zip(case.scores, case.mask)]
    for mode in MODES:
        (found,) = _values(crf.crf_decode, case.packed, mode)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("best", [1, 2, 5])
@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_k_best_are_the_best_of_all_sequences(k, form, forbid, best):
    case = _case(k, form=form, forbid=forbid)
    for mode in MODES:
        paths, found = _values(lambda packed: crf.crf_k_best(packed, best), case.packed, mode)
        assert paths.dtype == np.int32
        for row, (scores, mask) in enumerate(zip(case.scores, case.mask)):
            expected = oracle.k_best(scores, best)
            rest = best - len(expected)
            np.testing.assert_allclose(found[row], [s for _, s in expected] + rest * [-np.inf], **EXACT)
            placed = [oracle.in_place(y, mask) for y, _ in expected] + rest * [np.zeros(len(mask))]
            np.testing.assert_array_equal(paths[row], placed)


@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_marginals_and_entropy_are_those_of_all_sequences(k, form, forbid):
    case = _case(k, form=form, forbid=forbid)
    marginals = [oracle.marginals(scores, mask, k) for scores, mask in zip(case.scores, case.mask)]
    for mode in MODES:
        (found,) = _values(crf.crf_marginals, case.packed, mode)
        np.testing.assert_allclose(found, marginals, **EXACT)
        (found,) = _values(crf.crf_entropy, case.packed, mode)
        np.testing.assert_allclose(found, [oracle.entropy(scores) for scores in case.scores], **EXACT)


def _random_labels(case, unknown):
    """Labels of an allowed sequence at each row, some of them unknown, and anything at masked positions."""
    rng = np.random.default_rng(0)
    labels = rng.integers(-9, 99, size=case.mask.shape)
    for row, (scores, mask) in enumerate(zip(case.scores, case.mask)):
        words = oracle.words_of(mask)
        labels[row, words] = list(scores)[rng.integers(len(scores))]
        if unknown:
            labels[row, [t for t in words if rng.random() < 0.4]] = -1
    return labels


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_likelihood_is_that_of_all_sequences(k, form, forbid, unknown):
    case = _case(k, form=form, forbid=forbid)
    labels = _random_labels(case, unknown)
    rows = list(zip(case.scores, case.mask, labels))
    for mode in MODES:
        (found,) = _values(lambda packed: crf.crf_log_likelihood(packed, labels), case.packed, mode)
        np.testing.assert_allclose(found, [oracle.log_likelihood(*row) for row in rows], **EXACT)
        (found,) = _values(lambda packed: crf.crf_token_log_likelihood(packed, labels), case.packed, mode)
        np.testing.assert_allclose(found, [oracle.token_log_likelihood(*row) for row in rows], **EXACT)
        if not unknown:
            (found,) = _values(lambda packed: crf.crf_sequence_score(packed, labels), case.packed, mode)
            expected = [scores[tuple(y[mask])] for scores, mask, y in rows]
            np.testing.assert_allclose(found, expected, **EXACT)


QUANTITIES = {
    "log_partition": crf.crf_log_partition,
    "marginals": crf.crf_marginals,
    "entropy": crf.crf_entropy,
    "sequence_score": lambda packed: crf.crf_sequence_score(packed, _LABELS),
    "log_likelihood": lambda packed: crf.crf_log_likelihood(packed, _LABELS),
    "partly_known": lambda packed: crf.crf_log_likelihood(packed, _PARTLY_KNOWN),
    "token_log_likelihood": lambda packed: crf.crf_token_log_likelihood(packed, _PARTLY_KNOWN),
}
_LABELS = np.array([[1, 0, 2, 0]] * 16)
_PARTLY_KNOWN = np.array([[1, -1, -1, 0]] * 16)


def _expected(name, scores, mask):
    return {
        "log_partition": lambda: oracle.log_partition(scores),
        "marginals": lambda: oracle.marginals(scores, mask, 3),
        "entropy": lambda: oracle.entropy(scores),
        "sequence_score": lambda: scores[tuple(_LABELS[0][mask])],
        "log_likelihood": lambda: oracle.log_likelihood(scores, mask, _LABELS[0]),
        "partly_known": lambda: oracle.log_likelihood(scores, mask, _PARTLY_KNOWN[0]),
        "token_log_likelihood": lambda: oracle.token_log_likelihood(scores, mask, _PARTLY_KNOWN[0]),
    }[name]()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", QUANTITIES)
def test_gradients_are_finite_differences(name, form):
    case = _case(3, time=4, form=form, forbid=name in ("marginals", "entropy"))
    shape = np.shape(_expected(name, case.scores[0], case.mask[0]))
    weights = default_cotangent((16, *shape))
    d_unary, d_transitions = np.zeros(case.unary.shape), np.zeros(case.transitions.shape)
    for row, (unary, mask, weight) in enumerate(zip(case.unary, case.mask, weights)):
        own = case.transitions if form == "shared" else case.transitions[row]

        def loss(unary, transitions, mask=mask, weight=weight):
            scores = oracle.enumerate_scores(unary, transitions, mask)
            return np.sum(_expected(name, scores, mask) * weight)

        d_unary[row] = central_differences(lambda x, own=own: loss(x, own), unary)
        d_own = central_differences(lambda x, unary=unary: loss(unary, x), own)
        if form == "shared":
            d_transitions += d_own
        else:
            d_transitions[row] = d_own
    for mode in MODES:
        _, (gradient,) = _run(QUANTITIES[name], case.packed, mode)
        found = _parts(gradient, 3)
        np.testing.assert_allclose(found[0], d_unary, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found[1], d_transitions, rtol=0, atol=1e-8)
        assert not np.any(found[0][~case.mask])
