"""The CRF with scores that are large, far apart, or many."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops import crf_functions as crf
from keras_slstm.ops.crf import FORBIDDEN
from keras_slstm.ops.crf_potentials import pack, unpack
from keras_slstm.ops.kernels import crf_scaled
from keras_slstm.ops.label_schemes import allowed_transitions
from tests.backend import MODES, dtype_policy, gradients, outputs, to_numpy
from tests.oracles import crf as oracle

pytestmark = pytest.mark.short_run("torch")

ALLOWED = allowed_transitions(["O", "B-X", "I-X", "E-X", "S-X"], "BIOES")


def _sentence(time, scale, seed=0, constrained=True):
    """One sentence, as `(unary, transitions)` with -inf where something is forbidden."""
    rng = np.random.default_rng(seed)
    unary = scale * rng.uniform(-1, 1, size=(time, 5))
    transitions = rng.normal(size=(5, 5))
    if constrained:
        unary[0, ~ALLOWED.first] = -np.inf
        unary[-1, ~ALLOWED.last] = -np.inf
        transitions[~ALLOWED.transitions] = -np.inf
    return unary, transitions


def _pack(unary, transitions, dtype="float32", rows=1):
    """The sentence, `rows` times, left of its last row a masked position."""
    unary = np.repeat(np.maximum(unary, FORBIDDEN)[None], rows, axis=0)
    transitions = np.maximum(transitions, FORBIDDEN)
    arrays = (ops.convert_to_tensor(x, dtype) for x in (unary, transitions))
    return to_numpy(pack(*arrays, ops.ones(unary.shape[:2], "bool")))


@pytest.mark.parametrize(("time", "scale"), [(2000, 1.0), (2000, 30.0), (200, 1e3), (2000, 1e3)])
@pytest.mark.parametrize("constrained", [False, True])
def test_long_sentences_and_strong_scores(time, scale, constrained):
    unary, transitions = _sentence(time, scale, constrained=constrained)
    unary32, transitions32 = unary.astype("float32").astype(float), transitions.astype("float32").astype(float)
    expected = oracle.recursive_log_partition(unary32, transitions32)
    best, best_score = oracle.recursive_best(unary32, transitions32)
    packed = _pack(unary, transitions)
    (found,), (gradient,) = gradients(crf.crf_log_partition, packed, mode=MODES[-1])
    np.testing.assert_allclose(found, [expected], rtol=2e-6)
    marginals = gradient[0, :-5, :5] / np.sin(1.0)  # the cotangent of `gradients`
    np.testing.assert_allclose(marginals.sum(axis=1), 1, atol=1e-4)
    assert np.all(marginals > -1e-6)
    np.testing.assert_allclose(gradient[0, -5:, :5].sum() / np.sin(1.0), time - 1, rtol=1e-4)
    assert not np.any(marginals[np.isneginf(unary)])
    assert not np.any(gradient[0, -5:, :5][np.isneginf(transitions)])
    (found,) = outputs(crf.crf_decode, packed, mode=MODES[-1])
    assert oracle.score(unary, transitions, list(range(time)), tuple(found[0])) >= best_score - 1e-6 * abs(best_score)
    if scale < 1e3:
        assert np.mean(found[0] == best) > 0.999


def _forced():
    """Two chains that cannot be left; the first is far better for three words, the second wins at the end."""
    unary = np.zeros((6, 2))
    unary[:3, 0] = 60.0
    unary[3:, 1] = 70.0
    return unary, np.array([[0.0, -np.inf], [-np.inf, 0.0]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_path_that_is_only_decided_at_the_end(dtype):
    """Forward, all of the second chain underflows: log space has to take over."""
    unary, transitions = _forced()
    if dtype == "float64":
        unary *= 10
    with dtype_policy(dtype):
        packed = _pack(unary, transitions, dtype, rows=2)
        assert not crf_scaled.log_partition(unpack(packed))[1]
    scores = oracle.enumerate_scores(unary, transitions, np.ones(6, bool))
    for mode in MODES:
        with dtype_policy(dtype):
            (found,), (gradient,) = gradients(crf.crf_log_partition, packed, mode=mode)
        np.testing.assert_allclose(found, [oracle.log_partition(scores)] * 2, rtol=1e-6)
        marginals = oracle.marginals(scores, np.ones(6, bool), 2)
        np.testing.assert_allclose(gradient[:, :6, :2], np.sin([1, 2])[:, None, None] * marginals, atol=1e-6)
        expected = oracle.pair_marginals(scores, np.ones(6, bool), 2).sum(axis=0) * np.sin([1, 2]).sum()
        np.testing.assert_allclose(gradient[:, -2:, :2].sum(axis=0), expected, atol=1e-5)


@pytest.mark.parametrize("words", [[2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5], [0, 2, 3, 5, 6, 8]], ids=str)
def test_masked_positions_do_not_count_in_log_space(words):
    unary, transitions = _forced()
    mask = np.isin(np.arange(9), words)
    padded = np.zeros((9, 2))
    padded[mask] = unary
    parts = (padded[None], np.maximum(transitions, FORBIDDEN))
    arrays = (ops.convert_to_tensor(x, "float32") for x in parts)
    packed = to_numpy(pack(*arrays, ops.convert_to_tensor(mask[None])))
    assert not crf_scaled.log_partition(unpack(packed))[1]
    scores = oracle.enumerate_scores(padded, transitions, mask)
    (found,), (gradient,) = gradients(crf.crf_log_partition, packed, mode=MODES[-1])
    np.testing.assert_allclose(found, [oracle.log_partition(scores)], rtol=1e-6)
    np.testing.assert_allclose(gradient[0, :9, :2] / np.sin(1), oracle.marginals(scores, mask, 2), atol=1e-6)


def test_decoding_keeps_precision_on_long_sentences():
    best = np.random.default_rng(0).integers(5, size=2000)
    unary = 1000 + 0.05 * np.eye(5)[best]  # float32 holds 2,000 * 1000 in steps of 0.125
    (found,) = outputs(crf.crf_decode, _pack(unary, np.zeros((5, 5))), mode=MODES[-1])
    np.testing.assert_array_equal(found, [best])


@pytest.mark.parametrize("labels", [[[3, 2, 0]], [[3, -1, 0]]], ids=["known", "partly known"])
def test_a_penalty_has_no_gradient(labels):
    """E-X may not begin a sentence, and O may not follow I-X."""
    unary, transitions = _sentence(3, 1.0)
    packed = _pack(unary, transitions)
    forbidden = packed < FORBIDDEN / 2
    for function in (crf.crf_log_likelihood, crf.crf_sequence_score)[: 2 - (-1 in labels[0])]:
        (found,), (gradient,) = gradients(lambda packed, f=function: f(packed, np.array(labels)), packed)
        assert found < -9e3
        assert np.any(gradient)
        assert not np.any(gradient[forbidden])


def test_ordinary_scores_take_the_fast_path():
    unary, transitions = _sentence(200, 10.0)
    assert crf_scaled.log_partition(unpack(_pack(unary, transitions)))[1]


@pytest.mark.parametrize("name", ["likelihood", "marginals", "entropy", "token_likelihood", "k_best"])
def test_every_function_is_stable_with_strong_scores(name):
    unary, transitions = _sentence(60, 1e3)
    labels = np.array([oracle.recursive_best(unary, transitions)[0]])
    function = {
        "likelihood": lambda packed: crf.crf_log_likelihood(packed, labels),
        "marginals": crf.crf_marginals,
        "entropy": crf.crf_entropy,
        "token_likelihood": lambda packed: crf.crf_token_log_likelihood(packed, labels),
        "k_best": lambda packed: crf.crf_k_best(packed, 2)[1],
    }[name]
    packed = _pack(unary, transitions)
    if name == "k_best":
        (found,), gradient = outputs(function, packed), 0
    else:
        (found,), (gradient,) = gradients(function, packed)
    assert np.all(np.isfinite(found))
    assert np.all(np.isfinite(gradient))
    if "likelihood" in name:
        np.testing.assert_allclose(found, 0, atol=0.02)  # no other sequence comes near the best


def test_a_forbidden_sequence_has_a_large_finite_loss():
    unary, transitions = _sentence(3, 1.0)
    packed = _pack(unary, transitions, rows=4)
    labels = np.array([[0, 0, 0], [0, 2, 0], [3, 0, 1], [-1, 2, 0]])  # breaches: 0, 2 (O to I, I to O), 2, 1
    for mode in MODES:
        (found,), (gradient,) = gradients(lambda packed: -crf.crf_log_likelihood(packed, labels), packed, mode=mode)
        assert 0 < found[0] < 100
        np.testing.assert_allclose(found[1:], [2e4, 2e4, 1e4], atol=100)
        assert np.all(np.isfinite(gradient))
        (found,), (gradient,) = gradients(
            lambda packed: crf.crf_token_log_likelihood(packed, labels), packed, mode=mode
        )
        assert np.all(np.isfinite(found))
        assert np.all(np.isfinite(gradient))
        np.testing.assert_array_equal(found < -1e3, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]])
