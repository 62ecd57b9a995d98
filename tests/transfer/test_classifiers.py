"""Classifiers on frozen sentence vectors."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="it comes with the `examples` extra")

from keras_slstm.models.score_range import ScoreRange
from keras_slstm.transfer.classifiers import CLASSIFIERS, ScoreRegression, fit_path, logistic_regression, mlp_classifier
from tests.oracles.transfer import soft_label_gradient

RANGE = ScoreRange((1, 5))


def data(count=60, features=3, seed=0):
    """Vectors, a score each from 1 to 5 that one of the features says, and a label."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(count, features))
    scores = np.clip(3 + x[:, 0] + 0.3 * generator.normal(size=count), 1, 5)
    return x, scores, (x[:, 1] > 0).astype(int)


@pytest.mark.parametrize("C", [0.25, 8.0])
def test_scores_are_fitted_by_soft_labels(C):
    x, scores, _ = data()
    regression = ScoreRegression(RANGE, C)
    regression.model.set_params(tol=1e-10)
    regression.fit(x, scores)
    W, b = regression.model.coef_, regression.model.intercept_
    assert W.shape == (5, 3)
    gradient_W, gradient_b = soft_label_gradient(W, b, x, RANGE.encode(scores), C)
    np.testing.assert_allclose(gradient_W, 0, atol=1e-4)
    np.testing.assert_allclose(gradient_b, 0, atol=1e-4)
    z = x @ W.T + b
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(regression.predict(x), p @ [1, 2, 3, 4, 5], rtol=0, atol=1e-10)


def test_a_level_without_neighbouring_scores():
    x, _, labels = data()
    found = ScoreRegression(RANGE, 8.0).fit(x, np.where(labels, 4.0, 2.0)).predict(x)
    assert np.all((found >= 2) & (found <= 4))
    assert np.mean((found > 3) == labels) > 0.95


@pytest.mark.parametrize("scores", [None, RANGE])
def test_a_regularisation_path_equals_separate_fits(scores):
    x, y, labels = data()
    values = CLASSIFIERS["logistic"]
    along = [
        (model.predict(x) if scores else model.predict_proba(x))
        for model in fit_path("logistic", values, x, y if scores else labels, scores)
    ]
    for value, found in zip(values, along, strict=True):
        alone = ScoreRegression(scores, value).fit(x, y) if scores else logistic_regression().set_params(C=value)
        expected = alone.predict(x) if scores else alone.fit(x, labels).predict_proba(x)
        np.testing.assert_allclose(found, expected, rtol=0, atol=5e-3)
    assert np.max(np.abs(along[0] - along[-1])) > 0.02


def test_the_perceptron_learns_a_nonlinear_function():
    x = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    y = (x[:, 0] ** 2 + x[:, 1] ** 2 > 0.6).astype(int)
    network = mlp_classifier(seed=0).set_params(learning_rate_init=0.05)
    assert network.fit(x, y).score(x, y) > 0.9
    (linear,) = fit_path("logistic", [8.0], x, y)
    assert linear.score(x, y) < 0.7


def test_a_perceptron_is_seeded():
    x, _, y = data(100)
    found = [next(fit_path("mlp", [1e-3], x, y, seed=seed)).predict_proba(x) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert np.max(np.abs(found[0] - found[2])) > 0


def test_the_strengths_of_the_perceptron_are_those_of_sent_eval():
    """scikit-learn adds alpha / (2 n) |W|^2 to the loss of a batch of n, PyTorch's decay its product with W."""
    batch = mlp_classifier(seed=0).batch_size
    np.testing.assert_allclose(np.array(CLASSIFIERS["mlp"]) / batch, [1e-5, 1e-4, 1e-3, 1e-2])
