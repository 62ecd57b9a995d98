"""Pair marginals, expected counts, divergence and draws of a CRF, against all sequences of labels."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats

from keras_slstm.ops import crf_distributions as crf
from tests.backend import BACKEND, MODES, outputs
from tests.ops.crf_cases import CASES, EXACT, FORMS, differences, make_case, packed, parts, run, values
from tests.oracles import crf as oracle

pytestmark = pytest.mark.short_run("torch")


@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_counts_are_those_of_all_sequences(k, form, forbid):
    case = make_case(k, form=form, forbid=forbid)
    pairs = np.array([oracle.pair_marginals(scores, mask, k) for scores, mask in zip(case.scores, case.mask)])
    words = np.array([oracle.marginals(scores, mask, k) for scores, mask in zip(case.scores, case.mask)])
    for mode in MODES:
        (found,) = values(crf.crf_pair_marginals, case.packed, mode)
        np.testing.assert_allclose(found, pairs, **EXACT)
        labels, transitions = values(crf.crf_expected_counts, case.packed, mode)
        np.testing.assert_allclose(labels, words.sum(axis=1), **EXACT)
        np.testing.assert_allclose(transitions, pairs.sum(axis=1), **EXACT)


def _divergence(scores, others):
    total = oracle.log_partition(others)
    return sum(p * (np.log(p) - others[y] + total) for y, p in oracle.probabilities(scores).items() if p > 0)


def _other(case):
    """Other scores for the same words."""
    rng = np.random.default_rng(9)
    return (x + np.where(np.isfinite(x), rng.normal(size=x.shape), 0) for x in (case.unary, case.transitions))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("forbid", [False, True])
def test_divergence_and_its_gradients(form, forbid):
    k = 3
    case = make_case(k, 4, form, forbid)
    unary, transitions = _other(case)
    other = packed(np.where(case.mask[..., None], unary, 0), transitions, case.mask)
    row_of = [transitions] * len(case.mask) if form == "shared" else transitions
    others = [oracle.enumerate_scores(*rows) for rows in zip(unary, row_of, case.mask)]
    expected = [_divergence(p, q) for p, q in zip(case.scores, others)]

    def of_p(unary, transitions, mask, row):
        return _divergence(oracle.enumerate_scores(unary, transitions, mask), others[row])

    def of_q(unary, transitions, mask, row):
        return _divergence(case.scores[row], oracle.enumerate_scores(unary, transitions, mask))

    by_p = differences(case, of_p, ())
    swapped = SimpleNamespace(unary=np.where(case.mask[..., None], unary, 0), transitions=transitions, mask=case.mask)
    by_q = differences(swapped, of_q, ())
    for mode in MODES:
        (found,), gradients = _run_both(case.packed, other, mode)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        for gradient, (d_unary, d_transitions) in zip(gradients, (by_p, by_q)):
            d_found = parts(gradient, k)
            np.testing.assert_allclose(d_found[0], d_unary, rtol=0, atol=1e-8)
            np.testing.assert_allclose(d_found[1], d_transitions, rtol=0, atol=1e-8)


def _run_both(one, other, mode):
    found, (by_p,) = run(lambda x: crf.crf_kl_divergence(x, other), one, mode)
    _, (by_q,) = run(lambda x: crf.crf_kl_divergence(one, x), other, mode)
    return found, (by_p, by_q)


def test_divergence_from_one_that_forbids_more_is_infinite():
    p, q = make_case(3, 4), make_case(3, 4, forbid=True)
    (found,) = values(lambda x: crf.crf_kl_divergence(x, q.packed), p.packed, MODES[-1])
    words = p.mask.sum(axis=1)
    assert np.all(np.isinf(found) == (words > 0))
    (found,) = values(lambda x: crf.crf_kl_divergence(x, p.packed), q.packed, MODES[-1])
    assert np.all(np.isfinite(found))
    with pytest.raises(ValueError, match="same words and labels"):
        crf.crf_kl_divergence(p.packed, make_case(2, 4).packed)


def test_divergence_is_infinite_only_if_a_sequence_of_p_is_forbidden():
    """q forbids one label or transition more than p, which may not be part of any sequence; against all sequences."""
    rng = np.random.default_rng(3)
    k, time, rows = 3, 4, 60
    mask = rng.random((rows, time)) < 0.8
    expected = []
    for row in range(rows):
        p = [np.where(rng.random(shape) < 0.4, -np.inf, rng.normal(size=shape)) for shape in ((time, k), (k, k))]
        q = [scores.copy() for scores in p]
        q[row % 2].flat[rng.integers(q[row % 2].size)] = -np.inf
        of_p, of_q = ({*oracle.enumerate_scores(*scores, mask[row])} for scores in (p, q))  # allowed sequences
        if not of_p:
            continue
        expected.append(not of_p <= of_q)
        one, other = (packed(np.where(mask[[row], :, None], x[None], 0), T, mask[[row]]) for x, T in (p, q))
        (found,) = values(partial(crf.crf_kl_divergence, other=other), one, "eager")
        assert np.isinf(found[0]) == expected[-1]
    assert 5 < sum(expected) < len(expected) - 5


@pytest.mark.parametrize("place", ["label", "transition", "neither"])
def test_divergence_is_infinite_where_an_improbable_sequence_is_forbidden(place):
    """Also if its probability in p is below 1e-30, but not if p forbids it, too, or no sequence contains it."""
    mask = np.array([[True, False, True, True], [True, True, True, False], [True, False, False, False]])
    unary, transitions = np.zeros((3, 4, 3)), np.zeros((3, 3))
    unary[:, :, 2], transitions[1, 1] = -80.0, -80.0
    q_unary, q_transitions = unary.copy(), transitions.copy()
    if place == "label":
        q_unary[1, 1, 2] = -np.inf
        expected = [False, True, False]
    elif place == "transition":
        q_transitions[1, 1] = -np.inf
        expected = [True, True, False]
    else:  # label 2 begins no sentence of p, and nothing leads to it
        unary[:, 0, 2] = transitions[:, 2] = -np.inf
        q_unary, q_transitions = unary.copy(), transitions.copy()
        q_unary[:, :, 2] = q_transitions[2] = -np.inf
        expected = [False, False, False]
    one = packed(np.where(mask[..., None], unary, 0), transitions, mask)
    other = packed(np.where(mask[..., None], q_unary, 0), q_transitions, mask)
    for mode in MODES:
        (found,) = values(lambda x: crf.crf_kl_divergence(x, other), one, mode)
        np.testing.assert_array_equal(np.isinf(found), expected)
        assert np.all(found > -1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("forbid", [False, True])
def test_draws_have_the_probabilities_of_all_sequences(form, forbid):
    number = 4000
    case = make_case(3, 3, form, forbid)
    for mode in MODES if BACKEND == "tensorflow" else MODES[-1:]:
        (found,) = values(lambda x: crf.crf_sample(x, number, seed=1), case.packed, mode)
        assert found.shape == (8, number, 3)
        assert found.dtype == np.int32
        assert not np.any(found[~np.broadcast_to(case.mask[:, None], found.shape)])
        for row, (scores, mask) in enumerate(zip(case.scores, case.mask)):
            drawn = [tuple(y[mask]) for y in found[row]]
            assert set(drawn) <= set(scores)
            likely = {y: p for y, p in oracle.probabilities(scores).items() if p * number >= 5}
            counts = np.array([drawn.count(y) for y in likely])
            chances = np.array([*likely.values(), max(1 - sum(likely.values()), 1e-12)])
            chi2 = scipy.stats.chisquare([*counts, number - counts.sum()], chances / chances.sum() * number)
            assert chi2.pvalue > 1e-4, (row, chi2)


def test_draws_follow_their_seed():
    case = make_case(3, 3)
    one, again, other = (to_list(crf.crf_sample(case.packed, 5, seed=seed)) for seed in (3, 3, 4))
    assert one == again != other


def to_list(x):
    return outputs(lambda x: x, x)[0].tolist()


def test_divergence_of_empty_sentences_is_zero():
    empty = make_case(3, 4).packed[:, :3]  # the rows of the transitions alone
    (found,) = values(lambda x: crf.crf_kl_divergence(x, x), empty, MODES[-1])
    np.testing.assert_array_equal(found, np.zeros(len(empty)))
