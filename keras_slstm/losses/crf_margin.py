"""CRF losses with a margin between the correct labels and others."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.losses.crf import CRFLoss
from keras_slstm.ops.backend.value_checks import nan_unless
from keras_slstm.ops.crf import Potentials
from keras_slstm.ops.crf_checks import check_labels, replace_class
from keras_slstm.ops.crf_costs import check_cost, hinge, with_costs
from keras_slstm.ops.crf_functions import unpack_potentials
from keras_slstm.types import Tensor
from keras_slstm.validation import check_choice

FORMS = ("softmax", "hinge")


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFMarginLoss(CRFLoss):
    """A CRF loss with a margin: every other sequence must score lower, by at least the cost of its wrong labels.

    With the correct labels y and cost(y, y'), the total cost of the labels y' of another sequence,

        softmax:  log sum_y' exp(score(y') + cost(y, y')) - score(y)
        hinge:    max_y' (score(y') + cost(y, y')) - score(y)

    The softmax-margin (Gimpel and Smith, 2010) is the negative log-likelihood of `CRFLoss` if all costs are 0. The
    structured hinge (Taskar, Guestrin and Koller, 2003) is 0 if the correct labels win by the margin; its gradient is
    a subgradient, that of the best sequence. To raise the recall of a rare label, raise the cost of the labels that
    are predicted in its place.

    Args:
        cost: A number >= 0 for each wrong label, or a matrix `(K, K)` of them, [correct label, predicted label], with 0
            on the diagonal.
        form: `"softmax"` or `"hinge"`.
        reduction, name, dtype, ignore_class: As in `CRFLoss`.

    Call arguments:
        y_true: The labels, `(batch, time)`, as in `CRFLoss`. An unknown label costs nothing: the softmax-margin sums
            over its possible values, and the hinge takes the best one.
        y_pred: The output of a `CRF` layer.
        sample_weight: As in `CRFLoss`; `(batch, time)` only with `form="softmax"`.

    Returns:
        A scalar, or without a reduction `(batch,)`, never below 0.

    Raises:
        ValueError: If an argument is invalid, or labels, weights or costs do not match the potentials.

    Example:

    ```python
    cost = 1.0 - np.eye(3)
    cost[1:, 0] = 5.0  # the cost of a span that is not found
    model.compile("adam", loss=keras_slstm.CRFMarginLoss(cost), metrics=[keras_slstm.CRFAccuracy()])
    ```

    Reference:
        - [Gimpel and Smith, 2010](https://aclanthology.org/N10-1112/)
        - [Taskar, Guestrin and Koller, 2003](https://papers.nips.cc/paper/2397-max-margin-markov-networks)
    """

    def __init__(
        self,
        cost: Any = 1.0,
        form: str = "softmax",
        reduction: str | None = "sum_over_batch_size",
        name: str = "crf_margin_loss",
        dtype: Any = None,
        ignore_class: int | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype, ignore_class)
        self.cost = check_cost(cost)
        self.form = check_choice("form", form, FORMS)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """The loss of each sentence, `(batch,)`."""
        if self.form == "softmax":
            return super().call(y_true, y_pred)
        parts, labels, valid = self._labels(y_true, y_pred)
        if 0 in parts.unary.shape:
            return ops.sum(parts.unary, axis=(1, 2))
        return nan_unless(valid, hinge(parts, labels, self.cost))

    def by_word(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        if self.form == "hinge":
            raise ValueError("The hinge does not support word weights: pass sample weights of shape (batch,).")
        return super().by_word(y_true, y_pred)

    def prepared(self, y_true: Tensor, potentials: Potentials) -> Potentials:
        labels, _ = check_labels(potentials, replace_class(y_true, self.ignore_class))
        return with_costs(potentials, labels, self.cost)

    def _labels(self, y_true: Tensor, y_pred: Tensor) -> tuple[Potentials, Tensor, Tensor | None]:
        parts = unpack_potentials(y_pred)
        return parts, *check_labels(parts, replace_class(y_true, self.ignore_class))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["label_weights"], config["weighting"]
        return {**config, "cost": self.cost, "form": self.form}
