"""A score of -inf forbids a label as `FORBIDDEN` does: with the same results and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

import keras_slstm
from keras_slstm.losses import CRFMarginalLoss
from keras_slstm.ops import crf_distributions as distributions
from keras_slstm.ops import crf_functions as crf
from keras_slstm.ops import semi_crf_functions as semi
from keras_slstm.ops.crf import FORBIDDEN
from keras_slstm.ops.crf_potentials import pack, unpack
from keras_slstm.ops.kernels import crf_scaled
from keras_slstm.ops.label_schemes import allowed_transitions
from keras_slstm.ops.semi_crf import SegmentPotentials
from tests.backend import gradients, outputs, to_numpy

pytestmark = pytest.mark.short_run("torch")

LABELS = ["O", "B-X", "I-X"]
ALLOWED = allowed_transitions(LABELS, "BIO")
MASK = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]], bool)
RIGHT = np.array([[0, 1, 2, 0], [9, 1, 9, 0], [9, 9, 9, 9]])
WRONG = np.array([[0, 2, 2, 0], [9, 2, 9, 0], [9, 9, 9, 9]])
WEIGHTS = [1.0, 2.0, 0.5, 0.0]
PARTLY = np.array([[0, -1, 2, -1], [9, -1, 9, 0], [9, 9, 9, 9]])

FUNCTIONS = {
    "log_partition": crf.crf_log_partition,
    "likelihood": lambda x: crf.crf_log_likelihood(x, RIGHT),
    "forbidden_labels": lambda x: crf.crf_log_likelihood(x, WRONG),
    "partly_known": lambda x: crf.crf_log_likelihood(x, PARTLY),
    "score": lambda x: crf.crf_sequence_score(x, WRONG),
    "by_word": lambda x: crf.crf_token_log_likelihood(x, PARTLY),
    "marginals": crf.crf_marginals,
    "pair_marginals": distributions.crf_pair_marginals,
    "entropy": crf.crf_entropy,
    "marginal_loss": lambda x: CRFMarginalLoss(0.1, reduction=None)(RIGHT, x),
    "label_weights": lambda x: keras_slstm.CRFLoss(None, label_weights=WEIGHTS, weighting="likelihood")(RIGHT, x),
    "weighted_scores": lambda x: keras_slstm.CRFLoss(None, label_weights=WEIGHTS, weighting="transition")(RIGHT, x),
    "margin": lambda x: keras_slstm.CRFMarginLoss(reduction=None)(RIGHT, x),
    "hinge": lambda x: keras_slstm.CRFMarginLoss(form="hinge", reduction=None)(RIGHT, x),
}


def _packed(forbidden, pairwise, seed=0):
    rng = np.random.default_rng(seed)
    unary = np.where(MASK[..., None], rng.normal(size=(3, 4, 4)), 0)
    unary[0, 0, :3][~ALLOWED.first] = unary[1, 1, :3][~ALLOWED.first] = forbidden
    unary[0, 2, 0] = forbidden
    transitions = rng.normal(size=(3, 4, 4, 4) if pairwise else (4, 4))
    transitions[..., :3, :3][..., ~ALLOWED.transitions] = forbidden
    transitions[..., 3] = forbidden  # the last label may follow none
    return _numpy(pack, unary, transitions, MASK)


def _numpy(function, *scores_and_mask):
    *scores, mask = scores_and_mask
    tensors = [ops.convert_to_tensor(x, "float32") for x in scores]
    return to_numpy(function(*tensors, ops.convert_to_tensor(mask)))


def _assert_same(function, infinite, finite):
    """Both lists of inputs give the same finite results and gradients."""
    assert np.any(np.isneginf(infinite))
    # Values, then gradients.
    for found, expected in zip(*(gradients(function, *arrays) for arrays in (infinite, finite))):
        assert np.all(np.isfinite(found))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_infinite_scores_give_the_same_results_and_gradients(name, pairwise):
    infinite, finite = ([_packed(forbidden, pairwise)] for forbidden in (-np.inf, FORBIDDEN))
    _assert_same(FUNCTIONS[name], infinite, finite)


@pytest.mark.parametrize("pairwise", [False, True])
def test_infinite_scores_give_the_same_divergence(pairwise):
    infinite, finite = ([_packed(x, pairwise, seed) for seed in (0, 1)] for x in (-np.inf, FORBIDDEN))
    _assert_same(distributions.crf_kl_divergence, infinite, finite)


@pytest.mark.parametrize("pairwise", [False, True])
def test_infinite_scores_give_the_same_paths(pairwise):
    infinite, finite = (_packed(forbidden, pairwise) for forbidden in (-np.inf, FORBIDDEN))
    for function in (crf.crf_decode, lambda x: crf.crf_k_best(x, 3), lambda x: crf.crf_k_best(x, 2, beam=3)):
        for found, expected in zip(*(outputs(function, x) for x in (infinite, finite))):
            np.testing.assert_array_equal(found, expected)


def test_infinite_scores_where_log_space_takes_over():
    """The second of two chains, which cannot be left, is better, but only because of the last words."""
    unary = np.zeros((1, 6, 2))
    unary[0, :3, 0], unary[0, 3:, 1] = 60, 70
    infinite, finite = (
        [_numpy(pack, unary, np.array([[0, forbidden], [forbidden, 0]]), np.ones((1, 6), bool))]
        for forbidden in (-np.inf, FORBIDDEN)
    )
    assert not crf_scaled.log_partition(unpack(ops.convert_to_tensor(finite[0])))[1]
    for labels in (np.array([[0] * 6]), np.array([[0] * 5 + [-1]])):
        _assert_same(lambda x, y=labels: crf.crf_log_likelihood(x, y), infinite, finite)


@pytest.mark.parametrize("pairwise", [False, True])
def test_potentials_of_a_scheme_stored_in_half_precision(pairwise):
    """There, forbidden scores become -inf."""
    packed = _packed(FORBIDDEN, pairwise)
    with np.errstate(over="ignore"):
        half = packed.astype("float16")
    rounded = np.maximum(half.astype("float32"), FORBIDDEN)
    for function in (crf.crf_entropy, crf.crf_marginals, lambda x: distributions.crf_kl_divergence(x, rounded)):
        (found,), (expected,) = (outputs(function, x) for x in (half, rounded))
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_infinite_inputs_of_a_layer():
    """Log-probabilities of 0, for example, as scores."""
    layer, mask = keras_slstm.CRF(4, use_kernel=False), ops.convert_to_tensor(MASK)
    layer.build((3, 4, 4))
    scores = _packed(-np.inf, pairwise=False)[:, :4, :4]
    for function in (crf.crf_entropy, lambda x: crf.crf_log_likelihood(x, RIGHT)):

        def run(x, function=function):
            return function(layer(x, mask=mask))

        _assert_same(run, [scores], [np.maximum(scores, FORBIDDEN)])


def test_infinite_scores_of_segments():
    """Each kind of score forbids something."""

    def packed(forbidden):
        rng = np.random.default_rng(0)
        unary, begins, ends = (np.where(MASK[..., None], rng.normal(size=(3, 4, 2)), 0) for _ in range(3))
        durations, transitions = rng.normal(size=(3, 2)), rng.normal(size=(2, 2))
        unary[0, 1, 0] = begins[0, 2, 1] = ends[1, 3, 0] = durations[1, 1] = transitions[0, 0] = forbidden
        parts = (unary, begins, ends, durations, transitions, MASK)
        return [_numpy(lambda *parts: semi.pack_segments(SegmentPotentials(*parts)), *parts)]

    segments = np.array([[1, -1, -1, 0], [9, 0, 9, 1], [9, 9, 9, 9]])
    for function in (
        lambda x: semi.semi_crf_log_likelihood(x, segments, 3),
        lambda x: semi.semi_crf_marginals(x, 3),
        lambda x: semi.semi_crf_segment_marginals(x, 3),
    ):
        _assert_same(function, packed(-np.inf), packed(FORBIDDEN))
