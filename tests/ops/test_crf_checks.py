"""Invalid labels and weights of a CRF raise an error, or give NaN under XLA, where values are not visible."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from keras_slstm import CRFAccuracy, CRFLoss
from keras_slstm.ops import crf_functions as crf
from keras_slstm.ops.crf_potentials import pack
from tests.backend import BACKEND, MODES, gradients, outputs

pytestmark = pytest.mark.short_run("torch")

K = 3
MASK = np.array([[1, 1, 1], [0, 1, 1]], bool)
LABELS = np.array([[0, 1, 2], [77, 2, 0]], "int32")
ONES = np.ones((2, 3), "float32")


def _potentials():
    unary = np.where(MASK[..., None], np.random.default_rng(0).normal(size=(2, 3, K)), 0).astype("float32")
    return ops.convert_to_numpy(pack(*map(ops.convert_to_tensor, (unary, np.eye(K, dtype="float32"), MASK))))


def _losses(potentials, labels, weights=None):
    return CRFLoss(reduction=None)(labels, potentials, sample_weight=weights)


TAKE_LABELS = {
    "log_likelihood": crf.crf_log_likelihood,
    "token_log_likelihood": crf.crf_token_log_likelihood,
    "sequence_score": crf.crf_sequence_score,
    "loss": _losses,
    "loss with weights per sentence": lambda potentials, labels: _losses(potentials, labels, ONES[:, 0]),
    "loss with weights per word": lambda potentials, labels: _losses(potentials, labels, ONES),
}


def _check_refused(function, values, message, mode):
    """A function of potentials and values refuses the second row, in the way that the mode allows."""
    if mode == "eager":
        with pytest.raises(ValueError, match=message):
            function(ops.convert_to_tensor(_potentials()), ops.convert_to_tensor(values))
    elif mode == "graph":
        import tensorflow as tf

        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected (labels|sample weights)"):
            outputs(function, _potentials(), values, mode=mode)
    else:
        (found,) = outputs(function, _potentials(), values, mode=mode)
        assert np.all(np.isfinite(found[0]))
        assert np.all(np.isnan(found[1]))


@pytest.mark.parametrize(
    ("name", "mode"),
    # Compiled, both losses call the functions above.
    [(name, mode) for name in TAKE_LABELS for mode in MODES if mode == "eager" or "weights" in name],
)
def test_a_label_out_of_range_is_refused(name, mode):
    for wrong in (3, -100, 0.5) if mode == "eager" else (3,):
        labels = LABELS.astype(np.asarray(wrong).dtype)
        labels[1, 1] = wrong
        _check_refused(TAKE_LABELS[name], labels, rf"labels from 0 to 2.* but got {wrong} at position \(1, 1\)", mode)


@pytest.mark.parametrize("mode", MODES)
def test_the_score_of_a_sequence_needs_known_labels(mode):
    labels = LABELS.copy()
    labels[1, 2] = -1
    _check_refused(crf.crf_sequence_score, labels, r"labels from 0 to 2, but got -1 at position \(1, 2\)", mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(2,), (2, 3)])
def test_a_weight_that_is_negative_or_not_finite_is_refused(shape, mode):
    for wrong in (-1.0, np.nan, np.inf) if mode == "eager" else (-1.0,):
        weights = np.ones(shape, "float32")
        weights[(1,) * len(shape)] = wrong
        message = f"sample weights that are finite and >= 0, but got {wrong} at position"
        _check_refused(lambda potentials, weights: _losses(potentials, LABELS, weights), weights, message, mode)
        if mode == "eager":
            with pytest.raises(ValueError, match=message):
                CRFAccuracy().update_state(LABELS, _potentials(), sample_weight=weights)


def test_weights_of_masked_positions_do_not_count():
    weights = ONES.copy()
    weights[~MASK] = np.nan
    np.testing.assert_allclose(*(ops.convert_to_numpy(_losses(_potentials(), LABELS, w)) for w in (weights, ONES)))


@pytest.mark.parametrize("mode", MODES)
def test_the_metric_refuses_a_label_out_of_range(mode):
    metric = CRFAccuracy()
    wrong = np.where(MASK, 3, 0).astype("int32")

    def update(potentials, labels):
        if BACKEND != "jax":
            metric.update_state(labels, potentials)
            return metric.result()
        zeros = [ops.zeros(()) for _ in metric.variables]
        return metric.stateless_result(metric.stateless_update_state(zeros, labels, potentials))

    if mode == "xla":
        (found,) = outputs(update, _potentials(), wrong, mode=mode)
        assert np.isnan(found)
    else:
        _check_refused(update, wrong, r"labels from 0 to 2.* but got 3 at position \(0, 0\)", mode)


@pytest.mark.parametrize("ignored", [-100, 255, 1])
@pytest.mark.parametrize("mode", MODES[-1:])
def test_an_ignored_class_is_an_unknown_label(ignored, mode):
    labels = LABELS.astype("uint8" if ignored == 255 else "int32")
    labels[0, 1], labels[1, 2] = ignored, ignored
    unknown = LABELS.copy()
    unknown[0, 1] = unknown[1, 2] = -1
    for weights in (None, ONES):
        (found,) = outputs(
            lambda potentials, labels, weights=weights: CRFLoss(reduction=None, ignore_class=ignored)(
                labels, potentials, sample_weight=weights
            ),
            _potentials(),
            labels,
            mode=mode,
        )
        np.testing.assert_allclose(found, ops.convert_to_numpy(_losses(_potentials(), unknown, weights)), rtol=1e-5)
    expected, metric = CRFAccuracy(), CRFAccuracy(ignore_class=ignored)
    expected.update_state(unknown, _potentials())
    metric.update_state(labels, _potentials())
    assert float(metric.result()) == float(expected.result())


def test_other_arguments_are_refused_with_their_value():
    with pytest.raises(ValueError, match="`ignore_class` must be an integer or None, but got '-100'"):
        CRFLoss(ignore_class="-100")
    with pytest.raises(ValueError, match=r"Expected labels as one array, but got a dict: \{'tags'"):
        CRFLoss()({"tags": LABELS}, _potentials())
    with pytest.raises(ValueError, match=r"weights of shape \(3,\)"):
        CRFAccuracy().update_state(LABELS, _potentials(), sample_weight=np.ones(3))


@pytest.mark.parametrize("form", ["shared", "pairwise"])
@pytest.mark.parametrize(("batch", "time"), [(0, 3), (2, 0), (0, 0)])
def test_empty_batches_and_sentences(batch, time, form):
    unary, transitions = np.zeros((batch, time, K)), np.ones((K, K) if form == "shared" else (batch, time, K, K))
    parts = (ops.convert_to_tensor(x, "float32") for x in (unary, transitions))
    packed = ops.convert_to_numpy(pack(*parts, ops.ones((batch, time), "bool")))
    labels = np.zeros((batch, time), "int32")
    of_labels = [crf.crf_log_likelihood, crf.crf_sequence_score, lambda potentials, labels: _losses(potentials, labels)]
    for function in (crf.crf_log_partition, crf.crf_entropy, *(lambda x, f=f: f(x, labels) for f in of_labels)):
        (found,), (gradient,) = gradients(function, packed)
        np.testing.assert_array_equal(found, np.zeros(batch))
        assert not np.any(gradient)
    assert crf.crf_decode(packed).shape == crf.crf_token_log_likelihood(packed, labels).shape == (batch, time)
    assert crf.crf_marginals(packed).shape == (batch, time, K)
    paths, scores = crf.crf_k_best(packed, 2)
    assert paths.shape == (batch, 2, time)
    np.testing.assert_array_equal(ops.convert_to_numpy(scores), np.full((batch, 2), [0, -np.inf]))


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3"])
def test_k_must_be_a_positive_integer(k):
    with pytest.raises(ValueError, match=f"`k` must be an integer of at least 1, but got {k!r}"):
        crf.crf_k_best(_potentials(), k)
