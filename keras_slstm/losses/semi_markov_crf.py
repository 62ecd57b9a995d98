"""The negative log-likelihood of a semi-Markov CRF."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.losses.class_weight import check_no_class_weight
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.backend.value_checks import nan_unless
from keras_slstm.ops.crf_checks import check_weights
from keras_slstm.ops.semi_crf_functions import semi_crf_log_likelihood, unpack_segments
from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class SemiMarkovCRFLoss(keras.losses.Loss):
    """The negative log-likelihood of the segmentation of each sentence, from the output of a `SemiMarkovCRF` layer.

    Args:
        max_length: The `max_length` of the layer.
        reduction, name, dtype: As in `keras.losses.Loss`; in at least float32.

    Call arguments:
        y_true: `(batch, time)`: the label of each segment at its first word, -1 at its other words. Values at masked
            positions are ignored.
        y_pred: The output of a `SemiMarkovCRF` layer.
        sample_weight: `(batch,)` or `(batch, 1)`: a factor for each sentence's loss.

    Returns:
        A scalar, or without a reduction `(batch,)`. A segment that is too long adds about 10,000.

    Raises:
        ValueError: See `semi_crf_log_likelihood`; also if weights do not match the potentials.

    Example:

    ```python
    model.compile("adam", loss=keras_slstm.SemiMarkovCRFLoss(max_length=6))
    ```
    """

    def __init__(
        self,
        max_length: int,
        reduction: str | None = "sum_over_batch_size",
        name: str = "semi_markov_crf_loss",
        dtype: Any = None,
    ) -> None:
        # Keras also casts the labels to this dtype, but half precision represents few integers exactly.
        policy = keras.dtype_policies.get(dtype or keras.backend.floatx())
        super().__init__(name=name, reduction=reduction, dtype=accumulation_dtype(policy.compute_dtype))
        self.max_length = check_integer("max_length", max_length, least=1)

    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        if sample_weight is not None:
            check_no_class_weight()
            weights, valid = check_weights(sample_weight, unpack_segments(y_pred, self.max_length).mask)
            if len(weights.shape) != 1:
                raise ValueError(
                    f"{self.name} does not support word weights. Pass sample weights of shape (batch,), not "
                    f"{tuple(weights.shape)}."
                )
            sample_weight = nan_unless(valid, weights)
        loss = super().__call__(y_true, y_pred, sample_weight)
        is_reduced = self.reduction not in ("none", None)
        return keras.ops.sum(loss) if is_reduced and len(loss.shape) else loss  # Keras does not reduce an empty batch

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return -semi_crf_log_likelihood(y_pred, y_true, self.max_length)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "max_length": self.max_length}
