"""The encoder of the Transformer."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.layers.rematerialized import Dropout, Rematerialized
from keras_slstm.ops.masks import zero_padding
from keras_slstm.ops.sinusoids import sinusoidal_code
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_integer, check_rate


@keras.saving.register_keras_serializable(package="keras_slstm")
class TransformerEncoder(Rematerialized, ConfigFromArguments, keras.layers.Layer):
    """The encoder of Vaswani et al. (2017): blocks of self-attention and a feed-forward net, with norms and residuals.

    Words are projected to `units`, and sinusoidal position codes are added. Positions count the unmasked words.
    Normalisation comes before each sublayer and at the end ("pre-norm"), not after each residual as in the paper: eight
    blocks in the paper's form learn nothing without learning-rate warm-up, and the other encoders would have to be
    trained with it, too.

    Args:
        units: Width of the model.
        num_blocks: Number of blocks.
        num_heads: Number of attention heads. It must divide `units`.
        feed_forward: Width of the feed-forward nets. Default: `4 * units`.
        dropout: Dropout rate after the position codes, each attention and each feed-forward net.

    Input: `(batch, time, features)`, mask `(batch, time)`. Output: `(batch, time, units)`, zero at masked positions.

    Raises:
        ValueError: If an argument is out of range.
    """

    former_names = {"heads": "num_heads"}

    def __init__(
        self,
        units: int,
        num_blocks: int = 8,
        num_heads: int = 4,
        feed_forward: int | None = None,
        dropout: float = 0.1,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units = check_integer("units", units, 1)
        self.num_blocks = check_integer("num_blocks", num_blocks, 1)
        self.num_heads = check_integer("num_heads", num_heads, 1)
        self.feed_forward = None if feed_forward is None else check_integer("feed_forward", feed_forward, 1)
        self.dropout = check_rate("dropout", dropout)
        if units % num_heads or units % 2:
            raise ValueError(
                f"`units` must be even and divisible by `num_heads`, but got units={units!r}, num_heads={num_heads!r}."
            )
        dtype = self.dtype_policy
        self.projection = keras.layers.Dense(units, dtype=dtype)
        self.position_dropout = Dropout(dropout, dtype=dtype)
        self.norm = keras.layers.LayerNormalization(epsilon=1e-6, dtype=dtype)
        self.blocks = [
            _Block(units, num_heads, feed_forward or 4 * units, dropout, dtype=dtype) for _ in range(num_blocks)
        ]
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        self.projection.build(input_shape)
        for block in self.blocks:
            block.build((*input_shape[:-1], self.units))
        self.norm.build((*input_shape[:-1], self.units))
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        x, mask = masked_inputs(self, inputs, mask)
        x = self.projection(x)
        x = x + ops.cast(_position_codes(mask, ops.shape(x), self.units), x.dtype)
        x = self.position_dropout(x, training=training)
        for block in self.blocks:
            x = block(x, mask=mask, training=training)
        return zero_padding(self.norm(x), mask)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-1], self.units)


class _Block(Rematerialized, keras.layers.Layer):
    """One block: `x = x + attention(norm(x))`, `x = x + feed_forward(norm(x))`."""

    def __init__(self, units: int, num_heads: int, feed_forward: int, dropout: float, **kwargs: Any):
        super().__init__(**kwargs)
        dtype = self.dtype_policy
        self.attention = keras.layers.MultiHeadAttention(num_heads, units // num_heads, dtype=dtype)
        self.widen = keras.layers.Dense(feed_forward, activation="relu", dtype=dtype)
        self.narrow = keras.layers.Dense(units, dtype=dtype)
        self.norms = [keras.layers.LayerNormalization(epsilon=1e-6, dtype=dtype) for _ in range(2)]
        self.dropouts = [Dropout(dropout, dtype=dtype) for _ in range(2)]
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        self.attention.build(input_shape, input_shape)
        self.widen.build(input_shape)
        self.narrow.build((*input_shape[:-1], self.widen.units))
        for norm in self.norms:
            norm.build(input_shape)
        self.built = True

    def call(self, x: Any, mask: Any = None, training: bool = False) -> Any:
        keys = None if mask is None else ops.expand_dims(mask, 1)
        read = self.norms[0](x)
        attended = self.attention(read, read, attention_mask=keys, training=training)
        x = x + self.dropouts[0](attended, training=training)
        wide = self.narrow(self.widen(self.norms[1](x)))
        return x + self.dropouts[1](wide, training=training)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape


def _position_codes(mask: Tensor | None, shape: Shape, units: int) -> Tensor:
    """Sines, then cosines, of the positions among the unmasked words: `(batch or 1, time, units)`, float32."""
    if mask is None:
        positions = ops.expand_dims(ops.arange(shape[1], dtype="float32"), 0)
    else:
        positions = ops.cumsum(ops.cast(mask, "float32"), axis=1) - 1.0
    code = sinusoidal_code(positions, units, "float32")
    return ops.concatenate([code[..., ::2], code[..., 1::2]], axis=-1)
