"""The encoder of the Biattentive Classification Network (McCann et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.maxout import Maxout
from keras_slstm.layers.mlp import EPSILON, MOMENTUM, BatchNormalization
from keras_slstm.layers.rematerialized import Dropout, Rematerialized
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.masks import masked_max, masked_mean, masked_softmax, zero_padding
from keras_slstm.ops.soft_alignment import align
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_bool, check_integer, check_rate


@keras.saving.register_keras_serializable(package="keras_slstm")
class BiattentiveEncoder(Rematerialized, ConfigFromArguments, keras.layers.Layer):
    """Encodes a sentence as a vector by self-attention, four poolings and maxout layers.

        X = encoder(words),   C = softmax(X X^T) X                       the context of each word
        Z = BiLSTM([X; X - C; X * C])                                    the integrator
        v = [max Z; mean Z; min Z; sum_i beta_i Z_i],   beta = softmax(Z u)   over the real words
        output = maxout(maxout(v))

    McCann et al. (2017) read two sentences. Here both are the same sentence, so v contains the poolings once.

    Args:
        encoder: A layer that maps `(batch, time, features)` and a `mask` to the word vectors X.
        units: Units of each direction of the integrator.
        reductions: The factor by which each maxout layer reduces the number of features.
        dropout: Dropout rate after the last maxout layer.
        batch_norm: Whether to apply batch normalisation to the input of each maxout layer.

    Call arguments:
        inputs: `(batch, time, features)`.
        mask: `(batch, time)` bool, or None.
        training: Whether to apply dropout, and to normalise by the statistics of the batch.

    Returns:
        `(batch, 8 units / product of the reductions)`. For a row without words, the maxout layers read zeros.

    Weights: those of `encoder`, of `integrator`, of `maxouts` and `norms`; query: u, `(2 units,)`.

    Raises:
        ValueError: If an argument is out of range, or `encoder` does not return word vectors.
    """

    def __init__(
        self,
        encoder: keras.layers.Layer,
        units: int = 300,
        reductions: Sequence[int] = (4, 2),
        dropout: float = 0.0,
        batch_norm: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if isinstance(reductions, (str, int)):
            raise ValueError(f"`reductions` must be a list of integers, but got {reductions!r}.")
        self.encoder = encoder
        self.units = check_integer("units", units, 1)
        self.reductions = tuple(check_integer("reductions", reduction, 1) for reduction in reductions)
        self.dropout = check_rate("dropout", dropout)
        self.batch_norm = check_bool("batch_norm", batch_norm)
        dtype = self.dtype_policy
        self.integrator = keras.layers.Bidirectional(
            keras.layers.LSTM(self.units, return_sequences=True, dtype=dtype), dtype=dtype
        )
        self.maxouts = [Maxout(reduction, dtype=dtype) for reduction in self.reductions]
        self.norms = [
            BatchNormalization(momentum=MOMENTUM, epsilon=EPSILON, dtype=dtype)
            for _ in (self.reductions if self.batch_norm else ())
        ]
        self.dropout_layer = Dropout(self.dropout, dtype=dtype)
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        if not self.encoder.built:
            self.encoder.build(input_shape)
        words = self.encoder.compute_output_shape(input_shape)
        if len(words) != 3:
            raise ValueError(f"`encoder` must return word vectors (batch, time, features), but returns {words}.")
        self.integrator.build((*words[:2], 3 * words[2]))
        self.query = self.add_weight(name="query", shape=(2 * self.units,), initializer="glorot_uniform")
        shape: Shape = (words[0], 8 * self.units)
        for index, maxout in enumerate(self.maxouts):
            if self.norms:
                self.norms[index].build(shape)
            maxout.build(shape)
            shape = maxout.compute_output_shape(shape)
        self.built = True

    def call(self, inputs: Tensor, mask: Tensor | None = None, training: bool = False) -> Tensor:
        x, mask = masked_inputs(self, inputs, mask)
        x = zero_padding(self.encoder(x, mask=mask, training=training), mask)
        context = align(x, x, mask)
        joined = ops.concatenate([x, x - context, x * context], axis=-1)
        z = zero_padding(self.integrator(zero_padding(joined, mask), mask=mask, training=training), mask)
        pooled = [masked_max(z, mask), masked_mean(z, mask), -masked_max(-z, mask), self._attended(z, mask)]
        output = ops.concatenate(pooled, axis=-1)
        for index, maxout in enumerate(self.maxouts):
            if self.norms:
                output = self.norms[index](output, training=training)
            output = maxout(output)
        return self.dropout_layer(output, training=training)

    def _attended(self, z: Tensor, mask: Tensor | None) -> Tensor:
        wide = accumulation_dtype(self.compute_dtype)
        scores = (ops.cast(z, wide) @ ops.expand_dims(ops.cast(self.query, wide), 1))[..., 0]
        weights = masked_softmax(scores, mask)
        return ops.cast(ops.sum(ops.expand_dims(weights, -1) * ops.cast(z, wide), axis=1), self.compute_dtype)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        return None

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        features = 8 * self.units
        for reduction in self.reductions:
            features //= reduction
        return (input_shape[0], features)
