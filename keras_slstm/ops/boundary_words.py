"""The words `<s>` and `</s>` before the first and after the last real word."""

from __future__ import annotations

from keras import ops

from keras_slstm.types import Tensor


def add_boundary_words(x: Tensor, mask: Tensor | None, embeddings: Tensor) -> tuple[Tensor, Tensor | None]:
    """Extend sentences by one trained vector before the first and one after the last *real* word.

    Args:
        x: `(batch, time, e)`.
        mask: `(batch, time)` bool, or None where all words are real. Padding may stand on either side.
        embeddings: `(2, e)`: `<s>` and `</s>`.

    Returns:
        `(batch, time + 2, e)`, in which word i stands at i + 1, and the mask of words and boundary words
        (None if `mask` is None). A row without a real word gets no boundary words.
    """
    start, end = embeddings[0], embeddings[1]
    if mask is None:
        one = ops.zeros_like(x[:, :1])
        return ops.concatenate([one + start, x, one + end], axis=1), None
    n = ops.shape(mask)[1]
    real = ops.cast(mask, "int32")
    first = ops.argmax(real, axis=1)[:, None]
    last = n - 1 - ops.argmax(ops.flip(real, axis=1), axis=1)[:, None]
    position = ops.arange(n + 2)[None] - 1  # of the extended sentence, counted as in the given one
    position = ops.cast(position, first.dtype)
    some = ops.any(mask, axis=1, keepdims=True)
    is_start = (position == first - 1) & some
    is_end = (position == ops.cast(last, first.dtype) + 1) & some
    x = ops.pad(x, ((0, 0), (1, 1), (0, 0)))
    x = ops.where(is_start[..., None], start, ops.where(is_end[..., None], end, x))
    return x, ops.pad(mask, ((0, 0), (1, 1))) | is_start | is_end
