"""`CRFMarginalLoss` against the marginals from the enumeration of all label sequences."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import CRFLoss, CRFMarginalLoss
from tests.backend import BACKEND, MODES
from tests.ops.crf_cases import EXACT, FORMS, differences, make_case, parts, random_labels, run
from tests.oracles import crf as oracle

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

K, TIME = 3, 4


def _expected(scores, mask, labels, smoothing):
    marginals, total = oracle.marginals(scores, mask, K), 0.0
    for t in oracle.words_of(mask):
        if labels[t] == -1:
            continue
        possible = marginals[t][marginals[t] > 0]
        total -= (1 - smoothing) * np.log(marginals[t, labels[t]]) + smoothing * np.log(possible).mean()
    return total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("smoothing", "forbid"), [(0.0, False), (0.2, False), (0.2, True)])
def test_loss_and_its_gradients(form, smoothing, forbid):
    if BACKEND != "torch" and not (smoothing and forbid):
        pytest.skip("compiles the same functions")
    case = make_case(K, TIME, form, forbid)
    labels = random_labels(case, unknown=True)
    loss = CRFMarginalLoss(smoothing, reduction=None)
    found_labels = np.where(case.mask, labels, 0)
    expected = [_expected(*row, smoothing) for row in zip(case.scores, case.mask, labels)]

    def of_row(unary, transitions, mask, row):
        return _expected(oracle.enumerate_scores(unary, transitions, mask), mask, labels[row], smoothing)

    d_unary, d_transitions = differences(case, of_row, ())
    for mode in MODES:
        (found,), (gradient,) = run(lambda x: loss(found_labels, x), case.packed, mode)
        np.testing.assert_allclose(found, expected, **EXACT)
        by_unary, by_transitions = parts(gradient, K)
        np.testing.assert_allclose(by_unary, d_unary, rtol=0, atol=1e-7)
        np.testing.assert_allclose(by_transitions, d_transitions, rtol=0, atol=1e-7)


def test_an_impossible_label_has_a_large_loss_and_an_unknown_one_none():
    case = make_case(K, TIME, forbid=True)
    row = int(np.argmax(case.mask.sum(axis=1)))
    loss, labels = CRFMarginalLoss(0.1, reduction=None), np.full((1, TIME), -1)
    assert float(loss(labels, case.packed[row : row + 1].astype("float32"))[0]) == 0
    labels[0, 0] = K - 1
    found = float(loss(labels, case.packed[row : row + 1].astype("float32"))[0])
    assert 8000 < found < 10010


def test_weights_of_words_and_config():
    case = make_case(K, TIME)
    labels, packed = np.where(case.mask, random_labels(case, False), 0), case.packed.astype("float32")
    weights = np.random.default_rng(0).random(labels.shape).astype("float32")
    loss = CRFMarginalLoss(0.1, reduction=None, ignore_class=1)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert again.get_config() == loss.get_config()
    one, other = (keras.ops.convert_to_numpy(each(labels, packed, weights)) for each in (loss, again))
    np.testing.assert_array_equal(one, other)
    expected = [_expected(s, m, np.where(y == 1, -1, y), 0.1) for s, m, y in zip(case.scores, case.mask, labels)]
    np.testing.assert_allclose(keras.ops.convert_to_numpy(loss(labels, packed)), expected, rtol=1e-4, atol=1e-4)
    assert isinstance(loss, CRFLoss)
    with pytest.raises(ValueError, match="label_smoothing"):
        CRFMarginalLoss(1.5)
