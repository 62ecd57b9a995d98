"""`CRFMarginLoss` and the label weights of `CRFLoss` against the enumeration of all label sequences."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import CRFLoss, CRFMarginLoss
from keras_slstm.ops.crf_potentials import pack
from tests.backend import BACKEND, MODES
from tests.ops.crf_cases import EXACT, FORMS, differences, make_case, parts, random_labels, run
from tests.oracles import crf as oracle

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

K, TIME = 3, 4
COST = np.array([[0.0, 1.5, 0.5], [4.0, 0.0, 2.0], [0.25, 3.0, 0.0]])
WEIGHTS = np.array([0.5, 3.0, 1.25])
LOSSES = {
    "softmax": (CRFMarginLoss(COST, reduction=None), True),
    "softmax, one cost": (CRFMarginLoss(1.5, reduction=None), True),
    "hinge": (CRFMarginLoss(COST, "hinge", reduction=None), True),
    "emission": (CRFLoss(None, label_weights=WEIGHTS, weighting="emission"), True),
    "transition": (CRFLoss(None, label_weights=WEIGHTS, weighting="transition"), True),
    "likelihood": (CRFLoss(None, label_weights=WEIGHTS, weighting="likelihood"), False),
}


def _margin(name, scores, mask, labels):
    words = oracle.words_of(mask)
    cost = 1.5 * (1 - np.eye(K)) if name == "softmax, one cost" else COST
    right = {y: s for y, s in scores.items() if all(labels[t] in (-1, y[i]) for i, t in enumerate(words))}
    costly = {
        y: s + sum(cost[labels[t], y[i]] for i, t in enumerate(words) if labels[t] != -1) for y, s in scores.items()
    }
    if name == "hinge":
        return max(costly.values()) - max(right.values())
    return oracle.log_partition(costly) - oracle.log_partition(right)


def _weighted_likelihood(unary, transitions, mask, labels):
    """Computes z_i as the quotient of two sums over the labels of the first words."""
    words, total = oracle.words_of(mask), 0.0
    before = 0.0
    for i, t in enumerate(words):
        log_z = oracle.log_partition(
            oracle.enumerate_scores(unary, transitions, np.isin(range(len(mask)), words[: i + 1]))
        )
        total += WEIGHTS[labels[t]] * (unary[t, labels[t]] - log_z + before)
        if i > 0:
            own = transitions if transitions.ndim == 2 else transitions[t]
            last = labels[words[i - 1]]
            total += WEIGHTS[last] * own[last, labels[t]]
        before = log_z
    return total


def _expected(name, unary, transitions, mask, labels):
    if name == "likelihood":
        return -_weighted_likelihood(unary, transitions, mask, labels)
    if name == "emission":
        return -oracle.log_likelihood(oracle.enumerate_scores(unary * WEIGHTS, transitions, mask), mask, labels)
    if name == "transition":
        scores = oracle.enumerate_scores(unary * WEIGHTS, transitions * WEIGHTS[:, None], mask)
        return -oracle.log_likelihood(scores, mask, labels)
    return _margin(name, oracle.enumerate_scores(unary, transitions, mask), mask, labels)


CASES = [(form, forbid) for form in FORMS for forbid in (False, True)]


@pytest.mark.parametrize(("form", "forbid"), CASES if BACKEND == "torch" else CASES[1::2])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.short_run("torch")
def test_losses_and_gradients_are_those_of_all_sequences(name, form, forbid):
    case = make_case(K, TIME, form, forbid)
    loss, unknown = LOSSES[name]
    labels = random_labels(case, unknown)

    def expected(unary, transitions, mask, row):
        return _expected(name, unary, transitions, mask, labels[row])

    own = case.transitions if form == "pairwise" else [case.transitions] * len(case.mask)
    losses = [expected(*rows) for rows in zip(case.unary, own, case.mask, range(len(case.mask)))]
    d_unary, d_transitions = differences(case, expected, ())
    for mode in MODES:
        (found,), (gradient,) = run(lambda packed: loss(labels, packed), case.packed, mode)
        np.testing.assert_allclose(found, losses, **EXACT)
        d_found = parts(gradient, K)
        np.testing.assert_allclose(d_found[0], d_unary, rtol=0, atol=1e-8)
        np.testing.assert_allclose(d_found[1], d_transitions, rtol=0, atol=1e-8)


@pytest.mark.short_run("torch")
def test_the_terms_of_the_words_add_up():
    case = make_case(K, TIME)
    labels = random_labels(case, unknown=True)
    ones = np.ones(case.mask.shape)
    for name in ("softmax", "emission", "transition"):
        loss, _ = LOSSES[name]
        (found,), _ = run(lambda packed, loss=loss: loss(labels, packed, sample_weight=ones), case.packed)
        (whole,), _ = run(lambda packed, loss=loss: loss(labels, packed), case.packed)
        np.testing.assert_allclose(found, whole, **EXACT)


@pytest.mark.parametrize("name", LOSSES)
def test_forbidden_labels_have_a_large_finite_loss(name):
    case = make_case(K, TIME, "shared", True)
    labels = np.full(case.mask.shape, K - 1)  # this label may not begin
    (found,), (gradient,) = run(lambda packed: LOSSES[name][0](labels, packed), case.packed)
    assert np.all(found[case.mask.any(axis=1)] > 5e3)
    assert np.all(found < 1e6)
    assert np.all(np.isfinite(gradient))


def test_forbidden_labels_stay_forbidden_with_zero_weight():
    case = make_case(K, TIME, "shared", True)
    loss = CRFLoss(None, label_weights=[1.0, 1.0, 0.0])
    (found,), _ = run(lambda packed: loss(np.full(case.mask.shape, K - 1), packed), case.packed)
    assert np.all(found[case.mask.any(axis=1)] > 5e3)


@pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES.values()])
def test_config(loss):
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert again.get_config() == loss.get_config()
    assert type(again) is type(loss)


def test_bad_arguments_are_explained():
    with pytest.raises(ValueError, match="diagonal"):
        CRFMarginLoss(np.ones((3, 3)))
    with pytest.raises(ValueError, match="matrix"):
        CRFMarginLoss([1.0, 2.0])
    with pytest.raises(ValueError, match="-1"):
        CRFMarginLoss(-1)
    with pytest.raises(ValueError, match='"softmax" or "hinge"'):
        CRFMarginLoss(form="max")
    with pytest.raises(ValueError, match="nan"):
        CRFLoss(label_weights=[1.0, float("nan")])
    with pytest.raises(ValueError, match="emmission"):
        CRFLoss(label_weights=[1.0, 2.0], weighting="emmission")
    case = make_case(K, TIME)
    labels = random_labels(case, unknown=True)
    for loss in (CRFLoss(label_weights=[1.0, 2.0]), CRFMarginLoss([[0.0, 1.0], [1.0, 0.0]])):
        with pytest.raises(ValueError, match=r"3 labels, but has the shape \(2"):
            loss(labels, case.packed)
    with pytest.raises(ValueError, match="labels from 0 to 2, but got -1"):
        LOSSES["likelihood"][0](labels, case.packed)
    for name in ("hinge", "likelihood"):
        with pytest.raises(ValueError, match=r"\(batch,\)"):
            LOSSES[name][0](random_labels(case, False), case.packed, sample_weight=np.ones(case.mask.shape))


def test_the_weighted_likelihood_has_no_lower_bound():
    """A transition has the weight of the label it leaves; the sum over it has that of the label it enters."""
    loss = CRFLoss(label_weights=[1.0, 3.0], weighting="likelihood")

    def of(score):
        transitions = np.array([[0.0, 0.0], [score, 0.0]])
        given = np.zeros((1, 2, 2), "float32"), transitions.astype("float32"), np.ones((1, 2), "bool")
        return float(loss(np.array([[1, 0]]), pack(*map(keras.ops.convert_to_tensor, given))))

    assert of(20.0) < -10
    assert of(30.0) == pytest.approx(of(20.0) - 20, abs=1e-4)
