"""Public functions of the output of a `SemiMarkovCRF` layer.

Segmentations are `(batch, time)` int32: the label of each segment at its first word, -1 at all other positions.
"""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.backend.value_checks import check_values, nan_unless
from keras_slstm.ops.crf import bounded
from keras_slstm.ops.crf_checks import replace_class
from keras_slstm.ops.kernels.semi_crf import log_partition
from keras_slstm.ops.masks import is_first, zero_padding
from keras_slstm.ops.semi_crf import (
    INSIDE,
    SegmentPotentials,
    marginals,
    segment_marginals,
    segmentation_score,
)
from keras_slstm.ops.semi_crf_k_best import k_best_segmentations
from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer

# Marks the rows below the words in packed potentials, so that their number can be checked.
_BELOW = -1


def semi_crf_log_likelihood(potentials: Tensor, segments: Tensor, max_length: int) -> Tensor:
    """The log-probability of the segmentation of each sentence.

    Args:
        potentials: The output of a `SemiMarkovCRF` layer.
        segments: `(batch, time)`: the label of each segment at its first word, -1 at its other words. Values at masked
            positions are ignored.
        max_length: The `max_length` of the layer.

    Returns:
        `(batch,)`; about -10,000 for each segment that is too long.

    Raises:
        ValueError: If the shapes do not match, a label does not exist, or the first word does not begin a segment.
            A `tf.function` raises `tf.errors.InvalidArgumentError`; under XLA and `torch.compile`, the result is NaN.
    """
    parts = unpack_segments(potentials, max_length)
    segments = replace_class(segments, None)
    sizes = zip(segments.shape, parts.mask.shape)
    if len(segments.shape) != 2 or any(isinstance(n, int) and isinstance(m, int) and n != m for n, m in sizes):
        raise ValueError(
            f"Expected segments of shape (batch, time) = {tuple(parts.mask.shape)}, but got {tuple(segments.shape)}."
        )
    labels = parts.unary.shape[2]
    valid = (segments >= INSIDE) & (segments < labels) & ~(is_first(parts.mask) & (segments == INSIDE))
    if keras.backend.is_float_dtype(segments.dtype):
        valid = valid & (segments == ops.floor(segments))
    valid = valid | ~parts.mask
    expected = f"labels from 0 to {labels - 1} where segments begin, as at the first word, and {INSIDE} elsewhere"
    found = check_values(segments, valid, expected)
    if 0 in parts.unary.shape:
        return ops.sum(parts.unary, axis=(1, 2))
    segments = ops.cast(ops.where(valid, segments, ops.zeros_like(segments)), "int32")
    score = segmentation_score(parts, segments)
    return nan_unless(None if found is None else ops.all(found, axis=1), score - log_partition(parts))


def semi_crf_log_partition(potentials: Tensor, max_length: int) -> Tensor:
    """The log-partition function: log of the sum of exp(score) over all segmentations.

    Args:
        potentials, max_length: As in `semi_crf_log_likelihood`.

    Returns:
        `(batch,)`; 0 for a sentence without a word.
    """
    parts = unpack_segments(potentials, max_length)
    return ops.sum(parts.unary, axis=(1, 2)) if 0 in parts.unary.shape else log_partition(parts)


def semi_crf_decode(potentials: Tensor, max_length: int) -> Tensor:
    """The best segmentation of each sentence.

    Args:
        potentials, max_length: As in `semi_crf_log_likelihood`.

    Returns:
        `(batch, time)` int32: the label of each segment at its first word, -1 at all other positions.

    Example:

    ```python
    model = keras.Sequential([keras.Input((None, 50)), keras_slstm.SemiMarkovCRF(3, max_length=4)])
    segments = keras_slstm.semi_crf_decode(model.predict(np.zeros((2, 7, 50))), max_length=4)
    ```
    """
    return semi_crf_k_best(potentials, 1, max_length)[0][:, 0]


def semi_crf_k_best(potentials: Tensor, k: int, max_length: int) -> tuple[Tensor, Tensor]:
    """The k best segmentations of each sentence, best first.

    Args:
        potentials, max_length: As in `semi_crf_log_likelihood`.
        k: The number of segmentations, at least 1.

    Returns:
        The segmentations, `(batch, k, time)` int32, and their scores, `(batch, k)`. If fewer than k exist, the rest are
        -1, with the score -inf.
    """
    parts = unpack_segments(potentials, max_length)
    k = check_integer("k", k, least=1)
    if 0 in parts.unary.shape:
        batch, time, _ = ops.shape(parts.unary)
        zeros = ops.zeros((batch, k), parts.unary.dtype)
        return ops.zeros((batch, k, time), "int32"), ops.where(ops.arange(k) > 0, -float("inf"), zeros)
    return k_best_segmentations(parts, k)


def semi_crf_marginals(potentials: Tensor, max_length: int) -> Tensor:
    """The probability that each word is in a segment with each label.

    Args:
        potentials, max_length: As in `semi_crf_log_likelihood`.

    Returns:
        `(batch, time, K)`; 0 at masked positions.
    """
    parts = unpack_segments(potentials, max_length)
    return parts.unary if 0 in parts.unary.shape else marginals(parts)


def semi_crf_segment_marginals(potentials: Tensor, max_length: int) -> Tensor:
    """The probability of each segment.

    Args:
        potentials, max_length: As in `semi_crf_log_likelihood`.

    Returns:
        `(batch, time, max_length, K)`, indexed by the last word, the length - 1 and the label of the segment.
    """
    parts = unpack_segments(potentials, max_length)
    if 0 in parts.unary.shape:
        return ops.zeros_like(parts.unary[:, :, None] + parts.durations)
    return segment_marginals(parts)


def pack_segments(parts: SegmentPotentials) -> Tensor:
    """Pack potentials into one tensor, `(batch, time + K + L, 3 K + 1)`, with the mask in the last column of each word.

    Below the words are the transitions and the scores of the L durations, with -1 in the last column.
    """
    mask = ops.cast(parts.mask, parts.unary.dtype)[..., None]
    words = ops.concatenate([parts.unary, parts.begins, parts.ends, mask], axis=2)
    below = ops.concatenate([parts.transitions, parts.durations], axis=0)
    zeros = ops.zeros_like(below)
    below = ops.concatenate([below, zeros, zeros, zeros[:, :1] + _BELOW], axis=1)[None]
    return ops.concatenate([words, ops.broadcast_to(below, (ops.shape(words)[0], *below.shape[1:]))], axis=1)


def unpack_segments(potentials: Tensor, max_length: int) -> SegmentPotentials:
    """Recover the argument of `pack_segments`, in at least float32, with `FORBIDDEN` in place of -inf.

    Raises:
        ValueError: If the tensor cannot be the result of `pack_segments` with that maximum length. Under XLA, the
            scores are NaN instead.
    """
    longest = check_integer("max_length", max_length, least=1)
    potentials = ops.convert_to_tensor(potentials)
    shape = tuple(potentials.shape)
    size = (shape[-1] - 1) // 3 if len(shape) == 3 and isinstance(shape[-1], int) else 0
    if size < 1 or shape[-1] != 3 * size + 1 or (isinstance(shape[1], int) and shape[1] < size + longest):
        raise ValueError(
            "Expected the output of a `SemiMarkovCRF` layer, (batch, time + labels + max_length, 3 * labels + 1), with "
            f"max_length={longest}, but got a tensor of shape {shape}."
        )
    potentials = ops.cast(potentials, accumulation_dtype(keras.backend.standardize_dtype(potentials.dtype)))
    column, rows = potentials[..., 3 * size], size + longest
    is_mask = (column[:, :-rows] == 0) | (column[:, :-rows] == 1)
    expected = (
        f"the output of a `SemiMarkovCRF` layer with max_length={longest}, which has the mask, 0 or 1, in the last "
    )
    expected += f"column of each word, and {_BELOW} in its last {rows} rows"
    valid = ops.concatenate([is_mask, column[:, -rows:] == _BELOW], axis=1)
    # On PyTorch, Keras builds models with tensors of ones.
    found = check_values(column, valid | ops.all(column == 1, axis=1, keepdims=True), expected)
    words = potentials[:, : -(size + longest)]
    # All sentences share these rows. The sum takes those of the first, if any: a batch may be empty.
    below = ops.sum(potentials[:1, -(size + longest) :, :size], axis=0)
    below = bounded(ops.reshape(below, (size + longest, size)))  # a slice from the end has no static shape
    mask = words[..., 3 * size] > 0.5
    unary, begins, ends = (bounded(zero_padding(words[..., i * size : (i + 1) * size], mask)) for i in range(3))
    unary = nan_unless(None if found is None else ops.all(found, axis=1), unary)
    return SegmentPotentials(unary, begins, ends, below[size:], below[:size], mask)
