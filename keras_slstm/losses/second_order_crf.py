"""The negative log-likelihood of a second-order CRF."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.losses.crf import CRFLoss
from keras_slstm.ops.crf_checks import replace_class
from keras_slstm.ops.second_order_crf import second_order_crf_log_likelihood
from keras_slstm.types import Tensor


@keras.saving.register_keras_serializable(package="keras_slstm")
class SecondOrderCRFLoss(CRFLoss):
    """The negative log-likelihood of the labels of each sentence, from the output of a `SecondOrderCRF` layer.

    A label of -1 is unknown: the likelihood sums over all its possible values. Labels at masked positions are ignored.

    Args:
        reduction, name, dtype, ignore_class: As in `CRFLoss`.

    Call arguments:
        y_true: The labels, `(batch, time)`, from 0 to K - 1, or -1 or `ignore_class` for unknown ones.
        y_pred: The output of a `SecondOrderCRF` layer.
        sample_weight: `(batch,)` or `(batch, 1)`: a factor for each sentence's loss.

    Returns:
        A scalar, or without a reduction `(batch,)`.

    Raises:
        ValueError: If an argument is invalid, or labels or weights do not match the potentials.

    Example:

    ```python
    model.compile("adam", loss=keras_slstm.SecondOrderCRFLoss())
    ```
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str = "second_order_crf_loss",
        dtype: Any = None,
        ignore_class: int | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype, ignore_class)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """The loss of each sentence, `(batch,)`."""
        return -second_order_crf_log_likelihood(y_pred, replace_class(y_true, self.ignore_class))

    def by_word(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        raise ValueError(f"{self.name} does not support word weights: pass sample weights of shape (batch,).")

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["label_weights"], config["weighting"]
        return config
