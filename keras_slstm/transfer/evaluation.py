"""Evaluation of frozen sentence vectors on a task."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_slstm.extras import require
from keras_slstm.metrics.correlations import pearson, spearman
from keras_slstm.models.score_range import ScoreRange
from keras_slstm.transfer.classifiers import CLASSIFIERS, WITHOUT_VALIDATION, fit_path
from keras_slstm.transfer.tasks import TaskData

Encode = Callable[[list[str]], Any]  # maps texts to an array with one row per text


@dataclass(frozen=True)
class Examples:
    """Features `(examples, features)`, and a label (an integer) or a score for each example."""

    x: np.ndarray
    y: np.ndarray

    def take(self, indices: np.ndarray) -> Examples:
        return Examples(self.x[indices], self.y[indices])


def evaluate(
    encode: Encode,
    data: TaskData,
    classifier: str = "logistic",
    folds: int = 10,
    seed: int = 0,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Train a classifier on sentence vectors, and test it on a task.

    As in SentEval, the features are the vector of a sentence, or [|u - v|; u * v] for a pair, and the classifier is a
    logistic regression or an MLP (here from scikit-learn). Scores are always predicted by a logistic regression with
    soft labels (`ScoreRegression`); SentEval trains such a layer by gradient descent without regularisation. The
    regularisation is chosen

    - on the validation part, if the task has one;
    - otherwise by stratified cross-validation of the training part; the classifier is then trained on all of it.

    A task without a test part is itself cross-validated: each fold is tested with the regularisation chosen by
    cross-validation of the other folds.

    Args:
        encode: A function from a list of distinct texts to an array with one row per text, such as a `SentenceEncoder`.
            It is called once.
        data: The task; see `load_task`.
        classifier: One of `CLASSIFIERS`.
        folds: Number of folds of every cross-validation.
        seed: Seed for the folds, and for an MLP.
        progress: A function that receives a line for each slow step.

    Returns:
        The metrics on the test part, or their means over the folds: `accuracy` (and `f1` with `Task.positive`) or, for
        scores, `pearson`, `spearman` and `squared_error`; `development`, the accuracy or Pearson correlation on the
        examples used to choose the regularisation; `regularisation`, the chosen values; the `sizes` of the parts, the
        number of `features` of a sentence, `seconds_to_encode` and `seconds_to_fit`.

    Raises:
        ImportError: If scikit-learn is missing.
        ValueError: If an argument is invalid, a part has too few examples or unknown labels, or `encode` does not
            return one finite vector per text.

    Example:

    ```python
    encode = keras_slstm.models.SentenceEncoder(model)
    for name in ("TREC", "MRPC", "STS-B"):
        print(name, evaluate(encode, load_task(name, manual_dir="~/senteval")))
    ```

    Reference:
        [Conneau and Kiela, 2018](https://arxiv.org/abs/1803.05449)
    """
    if classifier not in CLASSIFIERS:
        raise ValueError(f"`classifier` must be one of {tuple(CLASSIFIERS)}, but got {classifier!r}.")
    if not isinstance(folds, int) or folds < 2:
        raise ValueError(f"`folds` must be an integer of at least 2, but got {folds!r}.")
    scores = ScoreRange(data.task.score_range) if data.task.score_range else None
    labels = None if scores else sorted(set(data.parts["train"].labels))
    if labels is not None and len(labels) < 2:
        raise ValueError(f"{data.task.name} needs at least two labels to train on, but has {labels}.")
    targets = {name: _targets(data, name, labels, scores) for name in data.parts}
    texts = list(dict.fromkeys(data.texts()))
    progress(f"encoding {len(texts):,} texts")
    started = time.perf_counter()
    vectors = check_vectors(encode(texts), len(texts))
    seconds_to_encode = time.perf_counter() - started
    rows = {text: row for row, text in enumerate(texts)}
    parts = {
        name: Examples(_features(vectors, rows, part.texts, data.task.pairs), targets[name])
        for name, part in data.parts.items()
    }

    started = time.perf_counter()
    positive = labels.index(data.task.positive) if labels and data.task.positive else None
    measure = _Measure(scores, positive)
    kind = "logistic" if scores else classifier
    values = WITHOUT_VALIDATION if "test" in parts and "validation" not in parts else CLASSIFIERS
    selection = _Selection(kind, values[kind], scores, seed, folds)
    tests = []
    for step, (train, development, test) in enumerate(selection.rounds(parts), start=1):
        progress(f"fitting {step} of {1 if 'test' in parts else folds}")
        value, found = selection.choose(train, development)
        (model,) = fit_path(selection.kind, [value], train.x, train.y, scores, seed)
        tests.append({**measure(test.y, model.predict(test.x)), "development": found, "regularisation": value})
    return {
        **{name: float(np.mean([one[name] for one in tests])) for name in tests[0] if name != "regularisation"},
        "regularisation": [one["regularisation"] for one in tests],
        "sizes": {name: len(part) for name, part in data.parts.items()},
        "features": vectors.shape[1],
        "seconds_to_encode": seconds_to_encode,
        "seconds_to_fit": time.perf_counter() - started,
    }


class _Measure:
    """Computes the metrics of predictions."""

    def __init__(self, scores: ScoreRange | None, positive: int | None):
        self.scores = scores
        self.positive = positive

    def __call__(self, wanted: np.ndarray, found: np.ndarray) -> dict[str, float]:
        if self.scores:
            error = float(np.mean((wanted - found) ** 2))
            return {"pearson": pearson(wanted, found), "spearman": spearman(wanted, found), "squared_error": error}
        measures = {"accuracy": float(np.mean(wanted == found))}
        if self.positive is not None:
            f1 = require("sklearn.metrics", "examples").f1_score
            right, predicted = wanted == self.positive, found == self.positive
            measures["f1"] = float(f1(right, predicted, zero_division=0))
        return measures


@dataclass(frozen=True)
class _Selection:
    """Chooses the regularisation."""

    kind: str
    values: Sequence[float]
    scores: ScoreRange | None
    seed: int
    folds: int

    def rounds(self, parts: dict[str, Examples]) -> Iterator[tuple[Examples, Examples | None, Examples]]:
        """Yield the training, development (None: cross-validate) and test examples of each round."""
        train, development = parts["train"], parts.get("validation")
        if "test" in parts:
            yield train, development, parts["test"]
            return
        for inside, outside in self._split(train):
            yield train.take(inside), development, train.take(outside)

    def choose(self, train: Examples, development: Examples | None) -> tuple[float, float]:
        """The best regularisation strength and its score."""
        if development is None:
            pairs = [(train.take(inside), train.take(outside)) for inside, outside in self._split(train)]
        else:
            pairs = [(train, development)]
        values = self.values
        found = np.mean([self._along_path(values, one, other) for one, other in pairs], axis=0)
        best = int(np.argmax(found))  # the first of equally good values
        return values[best], float(found[best])

    def _along_path(self, values: Sequence[float], train: Examples, development: Examples) -> list[float]:
        measure = _Measure(self.scores, None)
        name = "pearson" if self.scores else "accuracy"
        models = fit_path(self.kind, values, train.x, train.y, self.scores, self.seed)
        return [measure(development.y, model.predict(development.x))[name] for model in models]

    def _split(self, examples: Examples) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        selection = require("sklearn.model_selection", "examples")
        kind = selection.KFold if self.scores else selection.StratifiedKFold
        return kind(self.folds, shuffle=True, random_state=self.seed).split(examples.x, examples.y)


def check_vectors(found: Any, texts: int) -> np.ndarray:
    """Return the vectors as an array.

    Raises:
        ValueError: If they are not finite, or not one per text.
    """
    vectors = np.asarray(found)
    if vectors.ndim != 2 or len(vectors) != texts or not vectors.shape[1]:
        raise ValueError(f"The encoder must return an array ({texts}, features), but returned {vectors.shape}.")
    if not np.all(np.isfinite(vectors)):
        row = int(np.argmin(np.all(np.isfinite(vectors), axis=1)))
        raise ValueError(f"The encoder must return finite vectors, but that of text {row} is not finite.")
    return vectors


def _features(vectors: np.ndarray, rows: dict[str, int], texts: Sequence[Any], pairs: bool) -> np.ndarray:
    if not pairs:
        return vectors[[rows[text] for text in texts]]
    u, v = (vectors[[rows[pair[side]] for pair in texts]] for side in range(2))
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def _targets(data: TaskData, name: str, labels: list[str] | None, scores: ScoreRange | None) -> np.ndarray:
    values: list[Any] = data.parts[name].labels
    if scores is not None:
        scores.encode(values)  # raises if a score is out of range
        return np.asarray(values, np.float64)
    unknown = set(values) - set(labels or ())
    if unknown:
        raise ValueError(
            f'The part "{name}" of {data.task.name} has labels that its training part lacks: {sorted(unknown)}.'
        )
    return np.array([(labels or []).index(value) for value in values])
