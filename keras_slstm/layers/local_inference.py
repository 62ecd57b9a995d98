"""Word-by-word comparison of two sentences (Chen et al., 2017)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.mlp import Dense
from keras_slstm.layers.rematerialized import Dropout, Rematerialized
from keras_slstm.ops.masks import masked_max, masked_mean, zero_padding
from keras_slstm.ops.soft_alignment import align
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_integer, check_rate


@keras.saving.register_keras_serializable(package="keras_slstm")
class LocalInference(Rematerialized, ConfigFromArguments, keras.layers.Layer):
    """Compares two sentences word by word: the part of ESIM between its first encoder and its classifier.

        a~_i = sum_j softmax_j(a_i . b_j) b_j,   b~_j likewise                     soft alignment
        m_a = [a; a~; a - a~; a * a~]            m_b likewise                      enhancement
        v_a = BiLSTM(relu(m_a W + b))            v_b likewise, the same weights    composition
        output = [mean v_a; max v_a; mean v_b; max v_b]                            pooling, over the real words

    Args:
        units: Number of units of W and of each direction of the BiLSTM.
        dropout: Dropout rate after the ReLU.

    Call arguments:
        pairs: The words of both sentences, `(batch, 2, time, features)`.
        mask: `(batch, 2, time)` bool, True at real words, or None.
        training: Whether to apply dropout.

    Returns:
        `(batch, 8 units)`, in the compute dtype. The half for a sentence without words is zero.

    Weights: `projection.kernel` W, `(4 features, units)`, `projection.bias` b, `(units,)`; those of `composition`, a
        `keras.layers.Bidirectional`.

    Raises:
        ValueError: If an argument is out of range.
    """

    def __init__(self, units: int = 300, dropout: float = 0.5, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = check_integer("units", units, 1)
        self.dropout = check_rate("dropout", dropout)
        dtype = self.dtype_policy
        self.projection = Dense(self.units, activation="relu", dtype=dtype)
        self.dropout_layer = Dropout(self.dropout, dtype=dtype)
        self.composition = keras.layers.Bidirectional(
            keras.layers.LSTM(self.units, return_sequences=True, dtype=dtype), dtype=dtype
        )
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        batch, _, time, features = input_shape
        self.projection.build((batch, time, 4 * features))  # type: ignore[operator]
        self.composition.build((batch, time, self.units))
        self.built = True

    def call(self, pairs: Tensor, mask: Tensor | None = None, training: bool = False) -> Tensor:
        pairs, mask = masked_inputs(self, pairs, mask, axes=("batch", "2", "time"))
        a, b = pairs[:, 0], pairs[:, 1]
        a_mask, b_mask = (None, None) if mask is None else (mask[:, 0], mask[:, 1])
        aligned = [(a, align(a, b, b_mask)), (b, align(b, a, a_mask))]
        both = ops.concatenate([ops.concatenate([x, y, x - y, x * y], axis=-1) for x, y in aligned], axis=0)
        both_mask = None if mask is None else ops.concatenate([a_mask, b_mask], axis=0)
        x = self.dropout_layer(self.projection(both), training=training)
        v = self.composition(zero_padding(x, both_mask), mask=both_mask, training=training)
        pooled = ops.concatenate([masked_mean(v, both_mask), masked_max(v, both_mask)], axis=-1)
        return ops.concatenate(ops.split(pooled, 2, axis=0), axis=-1)

    def compute_mask(self, pairs: Tensor, mask: Tensor | None = None) -> None:
        return None

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], 8 * self.units)
