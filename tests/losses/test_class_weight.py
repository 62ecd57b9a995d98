"""`class_weight` is refused for labels per word."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import CRF, CRFLoss, CRFMarginLoss, SemiMarkovCRF, SemiMarkovCRFLoss

WORDS = np.ones((4, 3, 2), "float32")
LABELS = np.array([[0, 1, 1]] * 4)


def _model(layer, loss):
    model = keras.Sequential([layer])
    model.compile("sgd", loss=loss)
    return model


@pytest.mark.parametrize(
    ("layer", "loss"),
    [(CRF(2), CRFLoss()), (CRF(2), CRFMarginLoss()), (SemiMarkovCRF(2, 2), SemiMarkovCRFLoss(2))],
    ids=["CRFLoss", "CRFMarginLoss", "SemiMarkovCRFLoss"],
)
def test_fit_refuses_class_weight(layer, loss):
    with pytest.raises(ValueError, match=r"`class_weight` weights examples.*label_weights"):
        _model(layer, loss).fit(WORDS, LABELS, class_weight={0: 1.0, 1: 5.0}, verbose=0)


def test_a_fit_of_the_user_may_turn_class_weight_into_sample_weight():
    class Tagger:
        def fit(self, class_weight):
            weights = np.vectorize(class_weight.get)(LABELS).astype("float32")
            return _model(CRF(2), CRFLoss()).fit(WORDS, LABELS, sample_weight=weights, verbose=0)

    assert np.isfinite(Tagger().fit({0: 1.0, 1: 5.0}).history["loss"])


def test_train_on_batch_refuses_class_weight_and_takes_sample_weight():
    with pytest.raises(ValueError, match="`class_weight` weights examples"):
        _model(CRF(2), CRFLoss()).train_on_batch(WORDS, LABELS, class_weight={0: 1.0, 1: 5.0})
    assert _model(CRF(2), CRFLoss()).train_on_batch(WORDS, LABELS, sample_weight=np.zeros(4)) == 0.0
