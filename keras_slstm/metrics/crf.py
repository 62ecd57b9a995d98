"""The accuracy of a CRF."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.ops.backend.value_checks import nan_unless
from keras_slstm.ops.crf import UNKNOWN
from keras_slstm.ops.crf_checks import check_ignore_class, check_labels, check_weights, replace_class
from keras_slstm.ops.crf_functions import crf_decode, unpack_potentials
from keras_slstm.types import Tensor


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFAccuracy(keras.metrics.Mean):
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
        right = ops.cast(crf_decode(y_pred) == labels, self.dtype)
        weights = nan_unless(valid, ops.cast(parts.mask & (labels != UNKNOWN), self.dtype))
        if sample_weight is not None:
            given, finite = check_weights(sample_weight, parts.mask)
            given = ops.cast(nan_unless(finite, given), self.dtype)
            weights = weights * (given[:, None] if len(given.shape) == 1 else given)
        # Flat, because Keras averages within rows first, which would give words in batches of short rows more weight.
        super().update_state(ops.reshape(right, (-1,)), ops.reshape(weights, (-1,)))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "ignore_class": self.ignore_class}
