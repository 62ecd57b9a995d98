"""What is trained on frozen vectors: classifiers of scikit-learn, each along a path of strengths of regularisation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keras_slstm.extras import require
from keras_slstm.models.score_range import ScoreRange

MAX_ITERATIONS = 1000
HIDDEN_UNITS = 50  # of the MLP, as in SentEval
BATCH_SIZE = 64
# The values of SentEval: of `C`, the inverse of the strength of L2; and of `alpha`, the strength itself, of which
# scikit-learn takes a share: one by the number of examples in a batch.
CLASSIFIERS: dict[str, tuple[float, ...]] = {
    "logistic": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    "mlp": tuple(BATCH_SIZE * decay for decay in (1e-5, 1e-4, 1e-3, 1e-2)),
}
# Those for a task with a test part, but no validation part.
WITHOUT_VALIDATION = {**CLASSIFIERS, "logistic": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)}


def path(
    kind: str, values: Sequence[float], x: np.ndarray, y: np.ndarray, scores: ScoreRange | None = None, seed: int = 0
) -> Iterator[Any]:
    """Train with each of some values in turn.

    Args:
        kind: One of `CLASSIFIERS`.
        values: Of `C` for `"logistic"`, of `alpha` for `"mlp"`.
        x: `(examples, features)`.
        y: Integers, or with `scores` numbers within that range.
        scores: The range. Then it is a `ScoreRegression` that is trained, whose `kind` is `"logistic"`.
        seed: Of the first weights of an MLP, and of the order of its examples.

    Yields:
        A model with `predict`, which is good until the next one is asked for.
    """
    if scores is not None:
        model: Any = ScoreRegression(scores)
    else:
        model = logistic_regression() if kind == "logistic" else perceptron(seed)
    parameter = "C" if kind == "logistic" else "alpha"
    for value in values:
        # Each logistic regression starts from the one before: the same optimum, several times faster.
        yield model.set_params(**{parameter: value}).fit(x, y)


def logistic_regression() -> Any:
    """Of scikit-learn, not yet trained."""
    return require("sklearn.linear_model", "examples").LogisticRegression(max_iter=MAX_ITERATIONS, warm_start=True)


def perceptron(seed: int) -> Any:
    """A multi-layer perceptron of scikit-learn, not yet trained.

    As in SentEval: sigmoid units, Adam, and an end when held-out examples have seen nothing better for 20 epochs. Here
    these are a tenth of the training part, there sometimes other examples.
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
    """Scores by a logistic regression whose labels are soft (Tai, Socher and Manning, 2015, section 4.2).

    A score is a distribution over the whole numbers of its range (`ScoreRange`); the model gives each pair such a
    distribution by a softmax, and minimises the Kullback-Leibler divergence plus the L2 norm of its weights. What it
    predicts is the expected score. A soft label is two hard ones with weights, which scikit-learn takes.

    Args:
        scores: The range.
        C: Inverse of the strength of the regularisation.
    """

    def __init__(self, scores: ScoreRange, C: float = 1.0):
        self.scores = scores
        self.model = logistic_regression().set_params(C=C)

    def set_params(self, C: float) -> ScoreRegression:
        """Change the strength of the regularisation."""
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
