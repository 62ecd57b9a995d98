"""The accuracy of word labels."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.metrics.word_mean import WordMean
from keras_slstm.ops.crf import UNKNOWN
from keras_slstm.ops.crf_checks import check_word_labels
from keras_slstm.types import Tensor


@keras.saving.register_keras_serializable(package="keras_slstm")
class TokenAccuracy(WordMean):
    """The fraction of words whose most probable label is correct. Words with an unknown label, -1, are ignored.

    Args:
        name, dtype: As in `keras.metrics.Metric`.

    Call arguments:
        y_true: Labels, `(batch, time)` integers, -1 at padding and for unknown labels.
        y_pred: A score or probability of each label, `(batch, time, labels)`.
        sample_weight: `(batch,)`, `(batch, 1)` or `(batch, time)`: weights of sentences or words.

    Raises:
        ValueError: If labels or weights do not match the scores, a label does not exist, or the weight of a known label
            is negative or not finite. Inside functions compiled by XLA, such values make the result NaN.

    Example:

    >>> metric = TokenAccuracy()
    >>> metric.update_state([[0, 1, -1]], [[[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]]])
    >>> float(metric.result())
    0.5
    """

    def __init__(self, name: str = "token_accuracy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        y_pred = ops.convert_to_tensor(y_pred)
        if len(y_pred.shape) != 3:
            raise ValueError(
                f"{self.name} expects scores of shape (batch, time, labels), but got {tuple(y_pred.shape)}."
            )
        labels, valid = check_word_labels(y_true, y_pred.shape[2], ops.ones(ops.shape(y_pred)[:2], dtype="bool"))
        correct = ops.cast(ops.argmax(y_pred, axis=-1), "int32") == labels
        known = labels != UNKNOWN
        self.update_words(correct, known, valid, sample_weight, known)
