"""The accuracy of a CRF."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.metrics.word_mean import WordMean
from keras_slstm.ops.crf import UNKNOWN
from keras_slstm.ops.crf_checks import check_ignore_class, check_labels, replace_class
from keras_slstm.ops.crf_functions import crf_decode, unpack_potentials
from keras_slstm.types import Tensor


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFAccuracy(WordMean):
    """The fraction of words whose label in the best sequence (Viterbi) is correct.

    Words with an unknown label (-1) and masked positions are ignored. All words since the last reset have the same
    weight, regardless of how they were batched.

    Args:
        name: Name of the metric.
        dtype: The dtype of the result.
        ignore_class: A label that is treated as unknown, like -1; or None. See `CRFLoss`.

    Call arguments:
        y_true: The labels, `(batch, time)`, from 0 to K - 1, or -1 or `ignore_class` for unknown ones.
        y_pred: The output of a `CRF` layer.
        sample_weight: `(batch,)`, `(batch, 1)` or `(batch, time)`: weights of sentences or words.

    Raises:
        ValueError: If labels or weights do not match the potentials, or have values that `CRFLoss` rejects, too. Inside
            functions compiled by XLA, such values make the result NaN.

    Example:

    ```python
    model.compile("adam", loss=keras_slstm.CRFLoss(), metrics=[keras_slstm.CRFAccuracy()])
    ```
    """

    def __init__(self, name: str = "crf_accuracy", dtype: Any = None, ignore_class: int | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.ignore_class = check_ignore_class(ignore_class)

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        parts = unpack_potentials(y_pred)
        labels, valid = check_labels(parts, replace_class(y_true, self.ignore_class))
        known = parts.mask & (labels != UNKNOWN)
        self.update_words(crf_decode(y_pred) == labels, known, valid, sample_weight, parts.mask)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "ignore_class": self.ignore_class}
