"""The encoder of the Transformer."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.ops.masks import zero_padding
from keras_slstm.ops.sinusoids import sinusoidal_code
from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer, check_rate


@keras.saving.register_keras_serializable(package="keras_slstm")
class TransformerEncoder(keras.layers.Layer):
    """The encoder of Vaswani et al. (2017): self-attention and a feed-forward net, each with a norm and a residual.

    A projection takes the words to `units`; sinusoidal codes of the positions, counted over the real words, are added.
    The norm stands before each part and at the end, where the paper has it after each residual: eight blocks of that
    kind learn nothing without a warm-up of the learning rate, with which the other encoders would have to be trained,
    too.

    Args:
        units: Width of the model.
        num_blocks: Number of blocks.
        heads: Number of attention heads; they divide `units`.
        feed_forward: Width of the feed-forward nets. None: `4 * units`.
        dropout: Dropout rate behind the positions, each attention and each feed-forward net.

    Input: `(batch, time, features)`, mask `(batch, time)`. Output: `(batch, time, units)`, zero at masked positions.

    Raises:
        ValueError: If an argument is out of range.
    """

    def __init__(
        self,
        units: int,
        num_blocks: int = 8,
        heads: int = 4,
        feed_forward: int | None = None,
        dropout: float = 0.1,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units = check_integer("units", units, 1)
        self.num_blocks = check_integer("num_blocks", num_blocks, 1)
        self.heads = check_integer("heads", heads, 1)
        self.feed_forward = None if feed_forward is None else check_integer("feed_forward", feed_forward, 1)
        self.dropout = check_rate("dropout", dropout)
        if units % heads or units % 2:
            raise ValueError(f"`units` must be even and divide by `heads`, but got units={units!r}, heads={heads!r}.")
        dtype = self.dtype_policy
        self.projection = keras.layers.Dense(units, dtype=dtype)
        self.position_dropout = keras.layers.Dropout(dropout, dtype=dtype)
        self.norm = keras.layers.LayerNormalization(epsilon=1e-6, dtype=dtype)
        self.blocks = [_Block(units, heads, feed_forward or 4 * units, dropout, dtype=dtype) for _ in range(num_blocks)]
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
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

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-1], self.units)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "num_blocks": self.num_blocks,
            "heads": self.heads,
            "feed_forward": self.feed_forward,
            "dropout": self.dropout,
        }


class _Block(keras.layers.Layer):
    """One block: `x = x + attention(norm(x))`, `x = x + feed_forward(norm(x))`."""

    def __init__(self, units: int, heads: int, feed_forward: int, dropout: float, **kwargs: Any):
        super().__init__(**kwargs)
        dtype = self.dtype_policy
        self.attention = keras.layers.MultiHeadAttention(heads, units // heads, dtype=dtype)
        self.widen = keras.layers.Dense(feed_forward, activation="relu", dtype=dtype)
        self.narrow = keras.layers.Dense(units, dtype=dtype)
        self.norms = [keras.layers.LayerNormalization(epsilon=1e-6, dtype=dtype) for _ in range(2)]
        self.dropouts = [keras.layers.Dropout(dropout, dtype=dtype) for _ in range(2)]
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
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

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape


def _position_codes(mask: Tensor | None, shape: tuple, units: int) -> Tensor:
    """Sines, then cosines, of the positions counted over unmasked words, `(batch or 1, time, units)` float32."""
    if mask is None:
        positions = ops.expand_dims(ops.arange(shape[1], dtype="float32"), 0)
    else:
        positions = ops.cumsum(ops.cast(mask, "float32"), axis=1) - 1.0
    code = sinusoidal_code(positions, units, "float32")
    return ops.concatenate([code[..., ::2], code[..., 1::2]], axis=-1)
