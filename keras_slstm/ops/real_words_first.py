"""Moving the real words of a sentence together, so that a count of words is a count of positions."""

from __future__ import annotations

from keras import ops

from keras_slstm.types import Tensor


def real_words_first(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """`x`, `(batch, time, features)`, with all padding behind the words, whose order stays; and its mask."""
    time = ops.shape(mask)[1]
    position = ops.arange(time, dtype="int32")
    order = ops.argsort(ops.where(mask, position, position + time), axis=1)
    count = ops.sum(ops.cast(mask, "int32"), axis=1)[:, None]
    return ops.take_along_axis(x, order[..., None], axis=1), position < count


def real_words_back(x: Tensor, mask: Tensor) -> Tensor:
    """Words that `real_words_first` has moved, back in their places; what stands at masked positions is arbitrary."""
    place = ops.maximum(ops.cumsum(ops.cast(mask, "int32"), axis=1) - 1, 0)
    return ops.take_along_axis(x, place[..., None], axis=1)
