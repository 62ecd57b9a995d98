"""The correlation of predicted scores with the true ones."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.types import Tensor


@keras.saving.register_keras_serializable(package="keras_slstm")
class ScorePearson(keras.metrics.Metric):
    """Pearson's correlation between the expected scores of two distributions over equally spaced levels.

    It is computed over all pairs since the last reset, regardless of how they were batched. (The average over batches
    of `keras.metrics.PearsonCorrelation` is a different quantity.) It does not depend on which numbers the levels stand
    for. If all true or all predicted scores are equal, it is 0.

    Args:
        name: Name of the metric.
        dtype: The dtype of the result.

    Call arguments:
        y_true: The true scores, each as a distribution over the levels: `(batch, levels)`.
        y_pred: The predicted scores, in the same form.
        sample_weight: Weights of the pairs, `(batch,)` or `(batch, 1)`.

    Example:

    ```python
    metric = keras_slstm.ScorePearson()
    metric.update_state([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [[0.8, 0.2], [0.1, 0.9], [0.4, 0.6]])
    print(float(metric.result()))
    ```
    """

    def __init__(self, name: str = "pearson", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        # Sums of the weights, x, y, x * x, y * y and x * y, because sums of several replicas can be added.
        self.sums = self.add_variable((6,), initializer="zeros", dtype=self.dtype, name="sums")

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        x, y = self._expected(y_true), self._expected(y_pred)
        weights = ops.ones_like(x)
        if sample_weight is not None:
            weights = ops.reshape(ops.cast(ops.convert_to_tensor(sample_weight), x.dtype), (-1,))
        products = ops.stack([ops.ones_like(x), x, y, x * x, y * y, x * y])
        self.sums.assign(self.sums + ops.sum(products * weights, axis=1))

    def _expected(self, distributions: Tensor) -> Tensor:
        """The expected level, counted from the middle one, which keeps the sums small."""
        distributions = ops.cast(ops.convert_to_tensor(distributions), self.dtype)
        levels = distributions.shape[-1]
        return ops.sum(distributions * (ops.arange(levels, dtype=self.dtype) - (levels - 1) / 2), axis=-1)

    def result(self) -> Tensor:
        count, x, y, xx, yy, xy = ops.unstack(ops.convert_to_tensor(self.sums))
        count = ops.maximum(count, keras.config.epsilon())
        x, y = x / count, y / count
        covariance = xy / count - x * y
        squares = ops.stack([xx, yy]) / count
        variances = squares - ops.stack([x * x, y * y])
        # Rounding gives equal scores a small variance, and therefore a meaningless correlation.
        varied = ops.all(variances > ops.maximum(1e-6 * squares, 1e-12))
        safe = ops.where(varied, variances, ops.ones_like(variances))
        return ops.where(varied, covariance / ops.sqrt(safe[0] * safe[1]), ops.zeros_like(covariance))
