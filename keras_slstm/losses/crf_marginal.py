"""The cross-entropy of a CRF's marginals."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.losses.crf import CRFLoss
from keras_slstm.ops.backend.value_checks import nan_unless
from keras_slstm.ops.crf_checks import check_labels, replace_class
from keras_slstm.ops.crf_functions import unpack_potentials
from keras_slstm.ops.crf_smoothing import marginal_cross_entropy
from keras_slstm.types import Tensor
from keras_slstm.validation import check_rate


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFMarginalLoss(CRFLoss):
    """The cross-entropy of the marginal label probabilities of each word, with label smoothing.

    With the marginals p_i of a CRF, the correct labels y, and the number K_i of labels that word i can have,

        sum_i ((1 - s) (-log p_i(y_i)) + s / K_i sum_y (-log p_i(y)))

    where s is `label_smoothing`. It scores every label separately, where `CRFLoss` scores the whole sequence (Kakade,
    Teh and Roweis, 2002): it suits models that are evaluated word by word, or whose probabilities are used. It is the
    `learn_mode="marginal"` of keras-contrib.

    Args:
        label_smoothing: s, in [0, 1).
        reduction, name, dtype, ignore_class: As in `CRFLoss`.

    Call arguments:
        y_true: The labels, `(batch, time)`, as in `CRFLoss`. Words with unknown labels are ignored.
        y_pred: The output of a `CRF` layer.
        sample_weight: As in `CRFLoss`.

    Returns:
        A scalar, or without a reduction `(batch,)`.

    Raises:
        ValueError: If an argument is invalid, or labels or weights do not match the potentials.

    Example:

    ```python
    loss = keras_slstm.CRFMarginalLoss(label_smoothing=0.1)
    model.compile("adam", loss=loss, metrics=[keras_slstm.CRFAccuracy()])
    ```

    Reference:
        - [Kakade, Teh and Roweis, 2002](https://dl.acm.org/doi/10.5555/645531.655822)
    """

    def __init__(
        self,
        label_smoothing: float = 0.0,
        reduction: str | None = "sum_over_batch_size",
        name: str = "crf_marginal_loss",
        dtype: Any = None,
        ignore_class: int | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype, ignore_class)
        self.label_smoothing = check_rate("label_smoothing", label_smoothing)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """The loss of each sentence, `(batch,)`."""
        return ops.sum(self.by_word(y_true, y_pred), axis=1)

    def by_word(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        parts = unpack_potentials(y_pred)
        labels, valid = check_labels(parts, replace_class(y_true, self.ignore_class))
        if 0 in parts.unary.shape:
            return ops.sum(parts.unary, axis=2)
        return nan_unless(valid, marginal_cross_entropy(parts, labels, self.label_smoothing))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["label_weights"], config["weighting"]
        return {**config, "label_smoothing": self.label_smoothing}
