from __future__ import annotations

import numpy as np
import pytest

from keras_slstm.ops import crf_functions as crf
from tests.backend import MODES, default_cotangent
from tests.ops.crf_cases import CASES, EXACT, FORMS, differences, make_case, parts, random_labels, run, values
from tests.oracles import crf as oracle


@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_log_partition_is_that_of_all_sequences(k, form, forbid):
    case = make_case(k, form=form, forbid=forbid)
    for mode in MODES:
        (found,), (gradient,) = run(crf.crf_log_partition, case.packed, mode)
        np.testing.assert_allclose(found, [oracle.log_partition(scores) for scores in case.scores], **EXACT)
        weight = default_cotangent(found.shape)
        d_unary, d_transitions = parts(gradient, k)
        pairs = zip(case.scores, case.mask)
        expected = [oracle.marginals(scores, mask, k) for scores, mask in pairs]
        np.testing.assert_allclose(d_unary, weight[:, None, None] * expected, **EXACT)
        pairs = [oracle.pair_marginals(scores, mask, k) for scores, mask in zip(case.scores, case.mask)]
        expected = weight[:, None, None, None] * pairs
        np.testing.assert_allclose(d_transitions, expected if form == "pairwise" else expected.sum((0, 1)), **EXACT)


@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_decoding_is_the_best_of_all_sequences(k, form, forbid):
    case = make_case(k, form=form, forbid=forbid)
    expected = [oracle.in_place(oracle.k_best(scores, 1)[0][0], mask) for scores, mask in zip(case.scores, case.mask)]
    for mode in MODES:
        (found,) = values(crf.crf_decode, case.packed, mode)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("best", [1, 2, 5])
@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_k_best_are_the_best_of_all_sequences(k, form, forbid, best):
    case = make_case(k, form=form, forbid=forbid)
    for mode in MODES:
        paths, found = values(lambda packed: crf.crf_k_best(packed, best), case.packed, mode)
        assert paths.dtype == np.int32
        for row, (scores, mask) in enumerate(zip(case.scores, case.mask)):
            expected = oracle.k_best(scores, best)
            rest = best - len(expected)
            np.testing.assert_allclose(found[row], [s for _, s in expected] + rest * [-np.inf], **EXACT)
            placed = [oracle.in_place(y, mask) for y, _ in expected] + rest * [np.zeros(len(mask))]
            np.testing.assert_array_equal(paths[row], placed)


@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_marginals_and_entropy_are_those_of_all_sequences(k, form, forbid):
    case = make_case(k, form=form, forbid=forbid)
    marginals = [oracle.marginals(scores, mask, k) for scores, mask in zip(case.scores, case.mask)]
    for mode in MODES:
        (found,) = values(crf.crf_marginals, case.packed, mode)
        np.testing.assert_allclose(found, marginals, **EXACT)
        (found,) = values(crf.crf_entropy, case.packed, mode)
        np.testing.assert_allclose(found, [oracle.entropy(scores) for scores in case.scores], **EXACT)


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_likelihood_is_that_of_all_sequences(k, form, forbid, unknown):
    case = make_case(k, form=form, forbid=forbid)
    labels = random_labels(case, unknown)
    rows = list(zip(case.scores, case.mask, labels))
    for mode in MODES:
        (found,) = values(lambda packed: crf.crf_log_likelihood(packed, labels), case.packed, mode)
        np.testing.assert_allclose(found, [oracle.log_likelihood(*row) for row in rows], **EXACT)
        (found,) = values(lambda packed: crf.crf_token_log_likelihood(packed, labels), case.packed, mode)
        np.testing.assert_allclose(found, [oracle.token_log_likelihood(*row) for row in rows], **EXACT)
        if not unknown:
            (found,) = values(lambda packed: crf.crf_sequence_score(packed, labels), case.packed, mode)
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
    case = make_case(3, time=4, form=form, forbid=name in ("marginals", "entropy"))
    shape = np.shape(_expected(name, case.scores[0], case.mask[0]))

    def expected(unary, transitions, mask, row):
        return _expected(name, oracle.enumerate_scores(unary, transitions, mask), mask)

    d_unary, d_transitions = differences(case, expected, shape)
    for mode in MODES:
        _, (gradient,) = run(QUANTITIES[name], case.packed, mode)
        found = parts(gradient, 3)
        np.testing.assert_allclose(found[0], d_unary, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found[1], d_transitions, rtol=0, atol=1e-8)
        assert not np.any(found[0][~case.mask])
