"""The negative log-likelihood of a CRF; `keras_slstm/ops/crf.py` has the equations."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.losses.class_weight import check_no_class_weight
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.backend.value_checks import nan_unless
from keras_slstm.ops.crf import Potentials
from keras_slstm.ops.crf_checks import check_ignore_class, check_labels, check_weights, replace_class
from keras_slstm.ops.crf_costs import check_label_weights, weighted_log_likelihood, with_label_weights
from keras_slstm.ops.crf_functions import crf_log_likelihood, crf_token_log_likelihood, unpack_potentials
from keras_slstm.ops.crf_potentials import pack
from keras_slstm.types import Tensor
from keras_slstm.validation import check_choice

WEIGHTINGS = ("emission", "transition", "likelihood")
_REDUCTIONS = ("sum_over_batch_size", "mean", "sum", "token_mean", "none", None)


@keras.saving.register_keras_serializable(package="keras_slstm")
class CRFLoss(keras.losses.Loss):
    """The negative log-likelihood of the labels of each sentence, from the output of a `CRF` layer.

    A label of -1 is unknown: the likelihood sums over all its possible values. Labels at masked positions are ignored.
    A label that the layer's scheme forbids adds about 10,000.

    A label that does not exist, or a weight that is negative or not finite, raises ValueError in eager code and
    `tf.errors.InvalidArgumentError` in a `tf.function`. Code that XLA or `torch.compile` compiles (`jit_compile=True`,
    and all compiled code on JAX) cannot raise: there, the loss of the sentence is NaN.

    Args:
        reduction: `"sum_over_batch_size"` (or `"mean"`): the mean over the sentences. `"sum"`. `"token_mean"`: the sum
            divided by the number of words in the batch. None (or `"none"`): a loss for each sentence. Under a
            `tf.distribute` strategy, sum and mean are those of the whole batch; the token mean is the mean of the
            replicas' token means.
        name: Name of the loss.
        dtype: The dtype of the losses. Default: that of the potentials, which is at least float32.
        ignore_class: A label, often -100 or 255, that is treated as unknown, like -1; or None.
        label_weights: A factor >= 0 for each of the K labels, for example larger ones for rare labels; None for equal
            weights.
        weighting: The terms that label weights multiply. `"emission"`: the label scores of words (with the boundary
            scores). `"transition"`: these, and each transition by the weight of the label it leaves. `"likelihood"`:
            each word's part of the likelihood (de Lannoy et al., 2012); all labels must be known. The first two train
            with different scores than decoding uses. The third has no lower bound if weights differ, since a transition
            has the weight of the label it leaves: regularise the transitions.

    Call arguments:
        y_true: The labels, `(batch, time)`, from 0 to K - 1, or -1 or `ignore_class` for unknown ones.
        y_pred: The output of a `CRF` layer.
        sample_weight: `(batch,)` or `(batch, 1)`: a factor for each sentence's loss. `(batch, time)`: a factor for each
            word's part of it, -log p(its label | the labels before it, the sentence). The parts add up to the loss.

    Returns:
        A scalar, or without a reduction `(batch,)`.

    Raises:
        ValueError: If an argument is invalid, labels or weights do not match the potentials, or `fit` was given
            `class_weight`, which Keras cannot apply to word labels.

    Example:

    ```python
    model.compile("adam", loss=keras_slstm.CRFLoss())
    model.fit(words, labels, sample_weight=weights)
    ```

    Reference:
        - [De Lannoy, François, Delbeke and Verleysen, 2012](https://doi.org/10.1109/TBME.2011.2171037)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str = "crf_loss",
        dtype: Any = None,
        ignore_class: int | None = None,
        label_weights: Any = None,
        weighting: str = "emission",
    ) -> None:
        if reduction not in _REDUCTIONS:
            raise ValueError(f"`reduction` must be one of {_REDUCTIONS}, but got {reduction!r}.")
        super().__init__(name=name, dtype=dtype)
        self.reduction = reduction
        self.ignore_class = check_ignore_class(ignore_class)
        self.label_weights = None if label_weights is None else check_label_weights(label_weights)
        self.weighting = check_choice("weighting", weighting, WEIGHTINGS)
        self._given_dtype = None if dtype is None else accumulation_dtype(self.dtype)

    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        y_pred = ops.convert_to_tensor(y_pred)
        if self._given_dtype is not None:
            y_pred = ops.cast(y_pred, self._given_dtype)
        mask = unpack_potentials(y_pred).mask
        if sample_weight is None:
            losses = self.call(y_true, y_pred)
        else:
            check_no_class_weight()
            losses = self._weighted(y_true, y_pred, sample_weight, mask)
        reduction = self.reduction
        if reduction == "token_mean":
            sentences, words = ops.shape(mask)[0], ops.sum(ops.cast(mask, losses.dtype))
            losses = losses * (ops.cast(sentences, losses.dtype) / ops.where(words > 0, words, ops.ones_like(words)))
            reduction = "mean"
        if losses.shape[0] == 0 and reduction not in ("none", None):
            return ops.sum(losses)  # Keras does not reduce an empty batch
        reduce = _Reduction(reduction, self.name, losses.dtype)
        if reduction in ("sum", "none", None):
            return reduce(losses, losses)
        # On PyTorch, Keras computes means in float32. The mean of ones, 1 divided by the number of replicas, is exact.
        ones = ops.ones_like(losses)
        return ops.sum(losses) / ops.sum(ones) * ops.cast(reduce(ones, ones), losses.dtype)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """The loss of each sentence, `(batch,)`."""
        if self.label_weights is not None and self.weighting == "likelihood":
            return -self._weighted_log_likelihood(y_true, y_pred)
        return -crf_log_likelihood(self._prepared(y_true, y_pred), replace_class(y_true, self.ignore_class))

    def by_word(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """The part of each word in the loss, `(batch, time)`."""
        if self.label_weights is not None and self.weighting == "likelihood":
            raise ValueError('With weighting="likelihood", sample weights must have the shape (batch,).')
        return -crf_token_log_likelihood(self._prepared(y_true, y_pred), replace_class(y_true, self.ignore_class))

    def prepared(self, y_true: Tensor, potentials: Potentials) -> Potentials | None:
        """Return the potentials whose log-likelihood is the loss; None for the layer's own."""
        if self.label_weights is None:
            return None
        return with_label_weights(potentials, self.label_weights, self.weighting == "transition")

    def _prepared(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        found = self.prepared(y_true, unpack_potentials(y_pred))
        return y_pred if found is None else pack(*found)

    def _weighted_log_likelihood(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        parts = unpack_potentials(y_pred)
        labels, valid = check_labels(parts, replace_class(y_true, self.ignore_class), unknown=False)
        if 0 in parts.unary.shape:
            return ops.sum(parts.unary, axis=(1, 2))
        return nan_unless(valid, weighted_log_likelihood(parts, labels, self.label_weights or []))

    def _weighted(self, y_true: Tensor, y_pred: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
        weights, valid = check_weights(weights, mask)
        if len(weights.shape) == 1:
            losses = self.call(y_true, y_pred)
            losses = losses * ops.cast(weights, losses.dtype)
        else:
            words = self.by_word(y_true, y_pred)
            losses = ops.sum(words * ops.cast(weights, words.dtype), axis=1)
        return nan_unless(valid, losses)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "dtype": self._given_dtype,
            "ignore_class": self.ignore_class,
            "label_weights": self.label_weights,
            "weighting": self.weighting,
        }


class _Reduction(keras.losses.Loss):
    """Applies Keras' own reduction, which knows the number of replicas, to given losses."""

    def __init__(self, reduction: str | None, name: str, dtype: Any) -> None:
        # Keras would derive the name from the class name, but TensorFlow rejects scopes that start with "_".
        super().__init__(name=name, reduction=reduction, dtype=keras.backend.standardize_dtype(dtype))

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return y_pred
