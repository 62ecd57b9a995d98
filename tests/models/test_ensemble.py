"""Ensembles of models."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm.models.ensemble import Ensemble
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier

pytestmark = pytest.mark.ci_run("torch")

TEXTS = ["a b c", "b", "c a", "a"]
PAIRS = [("a b", "c"), ("b", "b a"), ("c", "a")]


def classifier(seed, labels=("x", "y"), texts=TEXTS):
    keras.utils.set_random_seed(seed)
    model = SentenceClassifier(labels, "cnn", units=4, embedding_dim=4, kernel_regularizer="l2")
    model.adapt(texts)
    return model


def scorer(seed, score_range=(1, 5)):
    keras.utils.set_random_seed(seed)
    model = SentencePairClassifier(
        score_range=score_range, encoder="cnn", units=4, embedding_dim=4, mlp_units=(), mlp_dropout=0.0,
        mlp_batch_norm=False,
    )  # fmt: skip
    model.adapt(PAIRS)
    return model


def test_probabilities_are_averaged(tmp_path):
    """Averages models with different vocabularies, passed as objects or as files."""
    one, other = classifier(0), classifier(1, texts=["c b", "d"])
    other.save(tmp_path / "other.keras")
    ensemble = Ensemble([one, tmp_path / "other.keras"])
    expected = (one.predict(TEXTS, verbose=0) + other.predict(TEXTS, verbose=0)) / 2
    found = ensemble.predict(TEXTS, batch_size=2)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert ensemble.classify(TEXTS) == [("x", "y")[i] for i in expected.argmax(axis=1)]
    with pytest.raises(ValueError, match="use `classify`"):
        ensemble.score(TEXTS)


def test_scores_are_averaged():
    models = [scorer(seed) for seed in range(3)]
    ensemble = Ensemble(models)
    np.testing.assert_allclose(ensemble.score(PAIRS), np.mean([m.score(PAIRS) for m in models], axis=0), atol=1e-5)
    with pytest.raises(ValueError, match="use `score`"):
        ensemble.classify(PAIRS)


def test_mismatches_raise(tmp_path):
    with pytest.raises(ValueError, match="`models` must be a list of at least one model, but got \\[\\]"):
        Ensemble([])
    with pytest.raises(ValueError, match="`models` must be a list"):
        Ensemble("model.keras")
    with pytest.raises(ValueError, match=r"All models must have the same labels: .* has \('y', 'x'\), the first has"):
        Ensemble([classifier(0), classifier(1, labels=("y", "x"))])
    with pytest.raises(ValueError, match=r"the same score_range: .* has \(0, 5\), the first has \(1, 5\)"):
        Ensemble([scorer(0), scorer(1, (0, 5))])
    with pytest.raises(ValueError, match="All models must have the same"):
        Ensemble([classifier(0), scorer(0)])
    path = tmp_path / "other.keras"
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(path)
    with pytest.raises(ValueError, match=r"must be a classifier, but .*other.keras is a Sequential"):
        Ensemble([path])
