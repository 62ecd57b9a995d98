"""The weighted mean over the words of all batches."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops.backend.value_checks import nan_unless
from keras_slstm.ops.crf_checks import check_weights
from keras_slstm.types import Tensor


class WordMean(keras.metrics.Mean):
    """Base class of metrics that average over words, each of which has the same weight in every batch."""

    def update_words(
        self, values: Tensor, known: Tensor, valid: Tensor | None, sample_weight: Tensor | None, mask: Tensor
    ) -> None:
        """Add the words of a batch.

        Args:
            values: `(batch, time)`, a number or bool for each word.
            known: `(batch, time)` bool, True at the words that count.
            valid: `(batch,)` bool, False where the labels of a sentence are invalid: the mean becomes NaN. None: all
                are valid.
            sample_weight: `(batch,)`, `(batch, 1)` or `(batch, time)`, or None.
            mask: `(batch, time)` bool, True where weights are checked.
        """
        weights = nan_unless(valid, ops.cast(known, self.dtype))
        if sample_weight is not None:
            given, finite = check_weights(sample_weight, mask)
            given = ops.cast(nan_unless(finite, given), self.dtype)
            weights = weights * (given[:, None] if len(given.shape) == 1 else given)
        # Flat, because Keras averages within rows first, which would give words in batches of short rows more weight.
        super().update_state(ops.reshape(ops.cast(values, self.dtype), (-1,)), ops.reshape(weights, (-1,)))
