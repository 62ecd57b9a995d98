"""Classifiers of scikit-learn on frozen vectors, each trained along a path of regularisation strengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keras_slstm.extras import require
from keras_slstm.models.score_range import ScoreRange

MAX_ITERATIONS = 1000
HIDDEN_UNITS = 50  # of the MLP, as in SentEval
BATCH_SIZE = 64
# SentEval's values of `C`, the inverse L2 strength, and of `alpha`, the L2 strength, which scikit-learn divides by the
# batch size.
CLASSIFIERS: dict[str, tuple[float, ...]] = {
    "logistic": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    "mlp": tuple(BATCH_SIZE * decay for decay in (1e-5, 1e-4, 1e-3, 1e-2)),
}
# Values for tasks with a test part but no validation part.
WITHOUT_VALIDATION = {**CLASSIFIERS, "logistic": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)}


def fit_path(
    kind: str, values: Sequence[float], x: np.ndarray, y: np.ndarray, scores: ScoreRange | None = None, seed: int = 0
) -> Iterator[Any]:
    """Train a classifier with each regularisation strength in turn.

    Args:
        kind: One of `CLASSIFIERS`.
        values: Values of `C` for `"logistic"`, of `alpha` for `"mlp"`.
        x: `(examples, features)`.
        y: Integers or, with `scores`, numbers within that range.
        scores: The range of the scores. With it, a `ScoreRegression` is trained, and `kind` must be `"logistic"`.
        seed: Seed for the initial weights of an MLP and the order of its examples.

    Yields:
        A model with `predict`. The next step retrains the same object.
    """
    if scores is not None:
        model: Any = ScoreRegression(scores)
    else:
        model = logistic_regression() if kind == "logistic" else mlp_classifier(seed)
    parameter = "C" if kind == "logistic" else "alpha"
    for value in values:
        # Each logistic regression starts from the previous one: the same optimum, several times faster.
        yield model.set_params(**{parameter: value}).fit(x, y)


def logistic_regression() -> Any:
    """An untrained logistic regression of scikit-learn."""
    return require("sklearn.linear_model", "examples").LogisticRegression(max_iter=MAX_ITERATIONS, warm_start=True)


def mlp_classifier(seed: int) -> Any:
    """An untrained multi-layer perceptron of scikit-learn.

    As in SentEval, it uses sigmoid units and Adam, and stops after 20 epochs without a better score on held-out
    examples. Here these are a tenth of the training part; SentEval sometimes uses other examples.
    """
    return require("sklearn.neural_network", "examples").MLPClassifier(
        (HIDDEN_UNITS,),
        activation="logistic",
        batch_size=BATCH_SIZE,
        early_stopping=True,
        n_iter_no_change=20,
        max_iter=MAX_ITERATIONS,
        random_state=seed,
    )


class ScoreRegression:
    """Predicts scores by logistic regression with soft labels (Tai, Socher and Manning, 2015, section 4.2).

    A score is a distribution over the integers in its range (`ScoreRange`). The model predicts such a distribution by a
    softmax, and minimises the Kullback-Leibler divergence plus an L2 penalty on its weights; its prediction is the
    expected score. For scikit-learn, a soft label is split into two weighted hard labels.

    Args:
        scores: The range of the scores.
        C: Inverse regularisation strength.
    """

    def __init__(self, scores: ScoreRange, C: float = 1.0):
        self.scores = scores
        self.model = logistic_regression().set_params(C=C)

    def set_params(self, C: float) -> ScoreRegression:
        """Change the regularisation strength."""
        self.model.set_params(C=C)
        return self

    def fit(self, x: np.ndarray, y: Sequence[float] | np.ndarray) -> ScoreRegression:
        """Train on scores."""
        distributions = self.scores.encode(y)
        rows, levels = np.nonzero(distributions)
        self.model.fit(x[rows], levels, sample_weight=distributions[rows, levels])
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The expected score of each example."""
        return self.model.predict_proba(x) @ self.scores.levels[self.model.classes_]
