"""Scoring of a tagger on development sentences after each epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_slstm.text.tag_schemes import span_scores


class DevelopmentScore(keras.callbacks.Callback):
    """Tags development sentences after each epoch, and adds the scores to Keras' logs.

    `val_accuracy` is the fraction of correctly labelled words. If the labels mark spans, `val_f1` is the F1 of the
    spans, by exact match of type and words. The history and later callbacks in the list, such as that of a
    `TrainingRun`, receive both. Use it instead of `validation_data`, whose loss says little about spans.

    Args:
        sentences: The tokens of the sentences.
        labels: The labels of their tokens.
        batch_size: Sentences per batch.

    Example:

    ```python
    score = DevelopmentScore(corpus.validation.tokens, corpus.validation.tags)
    tagger.fit(corpus.train.tokens, corpus.train.tags, epochs=5, callbacks=[score])
    ```
    """

    def __init__(self, sentences: Sequence[Sequence[str]], labels: Sequence[Sequence[str]], batch_size: int = 32):
        super().__init__()
        self.sentences = sentences
        self.labels = labels
        self.batch_size = batch_size

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = {} if logs is None else logs
        model = self.model  # on JAX, this access synchronises the weights
        found = model.tag(self.sentences, batch_size=self.batch_size)
        right = [one == other for a, b in zip(self.labels, found, strict=True) for one, other in zip(a, b, strict=True)]
        logs["val_accuracy"] = sum(right) / len(right)
        if model.scheme is not None:
            logs["val_f1"] = span_scores(self.labels, found, model.scheme)[2]
