"""The hidden layers of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.rematerialized import Dropout, Rematerialized
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.types import Shape
from keras_slstm.validation import check_bool, check_integer, check_rate

# The momentum of `torch.nn.BatchNorm1d`, which the authors use. Keras' default of 0.99 suits long epochs: after forty
# batches, its moving averages would still be far from the statistics of the data.
MOMENTUM = 0.9
EPSILON = 1e-5


@keras.saving.register_keras_serializable(package="keras_slstm")
class MLP(Rematerialized, ConfigFromArguments, keras.layers.Layer):
    """Hidden layers of a classifier: the MLP of eq. 14 of Choi, Kim and Lee (2019), without its output layer.

    Batch normalisation and then dropout are applied before the first hidden layer and after the last one, as in the
    authors' code.

    Args:
        units: The size of each hidden layer. There must be at least one.
        dropout: Dropout rate before the first hidden layer and after the last one.
        batch_norm: Whether to apply batch normalisation there, too. It uses the statistics of the batch in
            training, and moving averages otherwise.
        activation: The activation of the hidden layers, by its name in Keras, such as `"linear"`.

    Input: `(batch, features)`. Output: `(batch, units[-1])`, in the compute dtype.

    Weights: `hidden[i].kernel` `(inputs, units[i])` and `hidden[i].bias` `(units[i],)`; with `batch_norm`, `gamma`,
    `beta`, `moving_mean` and `moving_variance` of `norms[0]`, each `(features,)`, and of `norms[1]`, each
    `(units[-1],)`.

    Raises:
        ValueError: If an argument is out of range.
    """

    def __init__(
        self,
        units: Sequence[int],
        dropout: float = 0.0,
        batch_norm: bool = False,
        activation: str = "relu",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if isinstance(units, (str, int)) or not units:
            raise ValueError(f"`units` must be a list of the sizes of the hidden layers, but got {units!r}.")
        self.units = tuple(check_integer("units", size, 1) for size in units)
        self.dropout = check_rate("dropout", dropout)
        self.batch_norm = check_bool("batch_norm", batch_norm)
        self.activation = activation
        dtype = self.dtype_policy
        self.hidden = [Dense(size, activation=activation, dtype=dtype) for size in self.units]
        self.dropouts = [Dropout(dropout, dtype=dtype) for _ in range(2)]
        self.norms = [
            BatchNormalization(momentum=MOMENTUM, epsilon=EPSILON, dtype=dtype) for _ in range(2 if batch_norm else 0)
        ]

    def build(self, input_shape: Shape) -> None:
        batch, features = input_shape
        for layer in self.hidden:
            layer.build((batch, features))
            features = layer.units
        for norm, size in zip(self.norms, (input_shape[-1], features)):
            norm.build((batch, size))
        self.built = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        x = self._regularise(inputs, 0, training)
        for layer in self.hidden:
            x = layer(x)
        return self._regularise(x, 1, training)

    def _regularise(self, x: Any, which: int, training: bool) -> Any:
        if self.norms:
            x = self.norms[which](x, training=training)
        return self.dropouts[which](x, training=training)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-1], self.units[-1])


class Dense(keras.layers.Dense):
    """Like `keras.layers.Dense`, but float64 stays float64 on every backend (see `ops/backend/precision.py`)."""

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return self.activation(inputs @ self.kernel + self.bias)


class BatchNormalization(keras.layers.BatchNormalization):
    """Like `keras.layers.BatchNormalization` on `(batch, features)`, but float64 stays float64 on every backend."""

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        x = ops.cast(inputs, accumulation_dtype(self.compute_dtype))
        mean, variance = (ops.cast(v, x.dtype) for v in (self.moving_mean, self.moving_variance))
        if training and self.trainable:
            batch_mean = ops.sum(x, axis=0) / ops.cast(ops.shape(x)[0], x.dtype)
            batch_variance = ops.sum((x - batch_mean) ** 2, axis=0) / ops.cast(ops.shape(x)[0], x.dtype)
            self.moving_mean.assign(mean * self.momentum + batch_mean * (1 - self.momentum))
            self.moving_variance.assign(variance * self.momentum + batch_variance * (1 - self.momentum))
            mean, variance = batch_mean, batch_variance
        gamma, beta = (ops.cast(v, x.dtype) for v in (self.gamma, self.beta))
        return ops.cast((x - mean) / ops.sqrt(variance + self.epsilon) * gamma + beta, self.compute_dtype)
