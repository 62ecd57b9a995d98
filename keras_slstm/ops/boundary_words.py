"""The words `<s>` and `</s>` before the first and after the last real word."""

from __future__ import annotations

from keras import ops

from keras_slstm.ops.backend.traceable import pad
from keras_slstm.ops.masks import is_first, is_last
from keras_slstm.types import Tensor


def add_boundary_words(x: Tensor, mask: Tensor | None, embeddings: Tensor) -> tuple[Tensor, Tensor | None]:
    """Add a trained vector before the first real word and one after the last.

    Args:
        x: `(batch, time, e)`.
        mask: `(batch, time)` bool, or None if all words are real. Padding may be on either side.
        embeddings: `(2, e)`: `<s>` and `</s>`.

    Returns:
        `(batch, time + 2, e)` with word i at position i + 1, and the mask of words and boundary words (None if `mask`
        is None). A row without a real word gets no boundary words.
    """
    start, end = embeddings[0], embeddings[1]
    if mask is None:
        one = ops.zeros((ops.shape(x)[0], 1, x.shape[-1]), dtype=x.dtype)
        return ops.concatenate([one + start, x, one + end], axis=1), None
    is_start = pad(is_first(mask), ((0, 0), (0, 2)))
    is_end = pad(is_last(mask), ((0, 0), (2, 0)))
    x = pad(x, ((0, 0), (1, 1), (0, 0)))
    x = ops.where(ops.expand_dims(is_start, -1), start, ops.where(ops.expand_dims(is_end, -1), end, x))
    return x, pad(mask, ((0, 0), (1, 1))) | is_start | is_end
