"""Word depths chosen by a trained depth-adaptive GRN: Figure 4 of Liu et al. (2020)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_slstm.layers.depth_adaptive_grn import DepthAdaptiveGRN
from keras_slstm.layers.pooled_states import PooledStates
from keras_slstm.models.part_model import PartModel
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer


class ReadSentence(NamedTuple):
    """The words of a text and their depths, `(words,)`."""

    words: list[str]
    depths: np.ndarray


class DepthCounts:
    """Counts words by their depth.

    Args:
        max_depth: Maximum depth.

    Attributes:
        counts: `(max_depth,)`, the number of words of depth 1, 2, ...

    Example:

    ```python
    counts = DepthCounts(9)
    for sentence in read_depths(model, texts):
        counts.add(sentence.depths)
    counts.mean
    ```
    """

    def __init__(self, max_depth: int):
        self.counts = np.zeros(check_integer("max_depth", max_depth, 1), np.int64)

    def add(self, depths: Iterable[int] | np.ndarray) -> None:
        """Count the words of a sentence."""
        self.counts += np.bincount(np.asarray(depths, np.int64) - 1, minlength=len(self.counts))

    @property
    def words(self) -> int:
        """Number of words counted."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean depth; 0 if no words were counted."""
        return float(self.counts @ np.arange(1, len(self.counts) + 1)) / max(self.words, 1)


def find_grn(model: keras.Model) -> DepthAdaptiveGRN:
    """Return the depth-adaptive GRN that encodes the sentences of a classifier.

    Raises:
        ValueError: If the model is not a `SentenceClassifier`, or its encoder is another layer (in a `BCN`, one that
            wraps the GRN).
    """
    layer = model.encoder if isinstance(model, SentenceClassifier) else None
    layer = layer.layer if isinstance(layer, PooledStates) else layer
    if not isinstance(layer, DepthAdaptiveGRN):
        raise ValueError(
            f"{model.name} has no depths: it is not a SentenceClassifier whose encoder is a DepthAdaptiveGRN."
        )
    return layer


class _DepthModel(PartModel):
    """Maps a batch to the depths of its words, `(batch, time)`, 0 at padding."""

    def __init__(self, model: Any):
        super().__init__(model, name="depths")
        self.grn = find_grn(model)

    def call(self, inputs: Any) -> Tensor:
        return self.grn.word_depths(*self.model.embed(inputs))


def read_depths(model: Any, texts: Sequence[str], batch_size: int = 32) -> list[ReadSentence]:
    """Return the depths that a sentence classifier chooses for the words of texts.

    Args:
        model: A `SentenceClassifier` whose encoder is a `DepthAdaptiveGRN`.
        texts: A list of texts.
        batch_size: Texts per batch.

    Returns:
        For each text, its tokens (a single `[UNK]` if it has none) and their depths.

    Raises:
        ValueError: See `find_grn`.
    """
    depth_model = _DepthModel(model)
    if not texts:
        return []
    batches = model.batches(texts, batch_size=batch_size, shuffle=False)
    found: dict[int, np.ndarray] = {}
    for index in range(len(batches)):
        (inputs,) = batches[index]
        depths = depth_model.predict_on_batch(inputs)
        found |= {int(place): row[row > 0] for place, row in zip(batches.order[index], depths)}
    limit = model.vectorizer.max_length
    words = (model.vectorizer.tokenize(text)[:limit] or ["[UNK]"] for text in texts)
    return [ReadSentence(tokens, found[place]) for place, tokens in enumerate(words)]
