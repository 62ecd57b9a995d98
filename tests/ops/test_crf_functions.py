from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops import crf_functions as crf
from keras_slstm.ops.crf_potentials import pack
from tests.backend import MODES, default_cotangent, to_numpy
from tests.ops.crf_cases import CASES, EXACT, FORMS, differences, make_case, parts, random_labels, run, values
from tests.oracles import crf as oracle

pytestmark = pytest.mark.short_run("torch")


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
def test_k_best_within_a_margin(k, form, forbid):
    case, margin = make_case(k, form=form, forbid=forbid), 3.0
    for mode in MODES[-1:]:
        paths, found = values(lambda packed: crf.crf_k_best(packed, 4, margin), case.packed, mode)
        for row, (scores, mask) in enumerate(zip(case.scores, case.mask)):
            best = oracle.k_best(scores, 4)
            near = [(y, score) for y, score in best if score >= best[0][1] - margin]
            rest = 4 - len(near)
            np.testing.assert_allclose(found[row], [s for _, s in near] + rest * [-np.inf], **EXACT)
            placed = [oracle.in_place(y, mask) for y, _ in near] + rest * [np.zeros(len(mask))]
            np.testing.assert_array_equal(paths[row], placed)


@pytest.mark.parametrize("beam", [4, 40])
@pytest.mark.parametrize(("k", "form", "forbid"), CASES)
def test_k_best_of_a_beam(k, form, forbid, beam):
    """A beam of all sequences is exact; a narrow one is that of a search by hand."""
    case = make_case(k, 3, form, forbid)
    for mode in MODES[-1:]:
        paths, found = values(lambda packed: crf.crf_k_best(packed, 4, beam=beam), case.packed, mode)
        assert paths.dtype == np.int32
        for row, mask in enumerate(case.mask):
            transitions = case.transitions if form == "shared" else case.transitions[row]
            expected = _beam(case.unary[row], transitions, mask, beam)[:4]
            rest = 4 - len(expected)
            np.testing.assert_allclose(found[row], [s for _, s in expected] + rest * [-np.inf], **EXACT)
            placed = [oracle.in_place(y, mask) for y, _ in expected] + rest * [np.zeros(len(mask))]
            np.testing.assert_array_equal(paths[row], placed)
            if beam == 40 and k <= 3:  # 27 sequences
                best = oracle.k_best(case.scores[row], 4)
                np.testing.assert_allclose([s for _, s in expected], [s for _, s in best], **EXACT)


def _beam(unary, transitions, mask, width):
    kept, words = [((), 0.0)], oracle.words_of(mask)
    for i in range(len(words)):
        longer = [
            ((*y, label), oracle.score(unary, transitions, words[: i + 1], (*y, label)))
            for y, _ in kept
            for label in range(unary.shape[1])
        ]
        kept = sorted((each for each in longer if each[1] > -np.inf), key=lambda each: -each[1])[:width]
    return kept


@pytest.mark.backends("torch")
def test_a_beam_over_a_thousand_labels():
    rng = np.random.default_rng(0)
    unary = rng.normal(size=(2, 6, 1000)).astype("float32")
    mask = np.array([[True] * 6, [False, True, True, False, True, True]])
    packed = to_numpy(pack(*map(ops.convert_to_tensor, (unary, 0.1 * rng.normal(size=(1000, 1000)), mask))))
    paths, scores = map(to_numpy, crf.crf_k_best(packed, 5, beam=100))
    np.testing.assert_array_equal(paths[:, 0], to_numpy(crf.crf_decode(packed)))
    for rank in range(5):
        labels = to_numpy(crf.crf_sequence_score(packed, paths[:, rank]))
        np.testing.assert_allclose(scores[:, rank], labels, rtol=1e-5)
    assert np.all(np.diff(scores) <= 0)


@pytest.mark.parametrize(("arguments", "message"), [({"margin": -1.0}, "margin"), ({"beam": 3}, "beam")])
def test_bad_arguments_of_k_best(arguments, message):
    with pytest.raises(ValueError, match=message):
        crf.crf_k_best(make_case(2, 3).packed, 4, **arguments)


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
