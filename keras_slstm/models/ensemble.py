"""Ensembles of saved models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_slstm.models.score_range import ScoreRange
from keras_slstm.models.text_classifier import TextClassifier


class Ensemble:
    """Averages the probabilities of models with the same labels or scores.

    The models may differ in everything else: encoder, vocabulary, word vectors, seed. Pair models take pairs of texts,
    the others take texts.

    Args:
        models: A non-empty list of `SentenceClassifier` or `SentencePairClassifier` models (including `BCN` and
            `ESIM`), or of paths of their `.keras` files.

    Raises:
        ValueError: If the list is empty, a model is of another kind, or the labels or scores of two models differ.

    Example:

    ```python
    ensemble = Ensemble([f"runs/sick-seed{seed}/model.keras" for seed in range(5)])
    ensemble.classify([("A dog runs", "An animal moves")])  # ["entailment"]
    ```
    """

    def __init__(self, models: Sequence[TextClassifier | str | os.PathLike[str]]) -> None:
        if isinstance(models, (str, os.PathLike)) or not models:
            raise ValueError(f"`models` must be a list of at least one model, but got {models!r}.")
        self.models = [
            keras.saving.load_model(model) if isinstance(model, (str, os.PathLike)) else model for model in models
        ]
        for given, model in zip(models, self.models, strict=True):
            if not isinstance(model, TextClassifier):
                raise ValueError(f"Each model must be a classifier, but {given} is a {type(model).__name__}.")
            for name in ("labels", "score_range"):
                one, other = (getattr(m, name, None) for m in (model, self.models[0]))
                if one != other:
                    raise ValueError(f"All models must have the same {name}: {given} has {one}, the first has {other}.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The label names, in the order of the probabilities; empty for scores."""
        return self.models[0].labels

    def predict(self, x: Any, batch_size: int = 32) -> np.ndarray:
        """The mean of the models' probabilities, one row per text or pair of texts."""
        return np.mean([model.predict(x, batch_size=batch_size, verbose=0) for model in self.models], axis=0)

    def classify(self, x: Sequence[Any], batch_size: int = 32) -> list[str]:
        """The most probable label name of each text or pair of texts.

        Raises:
            ValueError: If the models predict scores.
        """
        if not self.labels:
            raise ValueError("These models predict scores, not labels: use `score`.")
        return [self.labels[i] for i in self.predict(x, batch_size).argmax(axis=-1)]

    def score(self, x: Sequence[Any], batch_size: int = 32) -> np.ndarray:
        """Return the mean score of each pair.

        Raises:
            ValueError: If the models predict labels.
        """
        if self.labels:
            raise ValueError("These models predict labels, not scores: use `classify`.")
        return ScoreRange(self.models[0].score_range).decode(self.predict(x, batch_size))
