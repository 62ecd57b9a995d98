"""Masks over the words of a sentence: `(batch, time)` bool, True at real words."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops.backend.jax_export import in_jax_export
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.backend.traceable import amax, pad
from keras_slstm.ops.backend.value_checks import check_values
from keras_slstm.ops.export_mode import in_export_mode
from keras_slstm.types import Tensor


def check_mask(x: Tensor, mask: Tensor | None, layer: str, axes: tuple[str, ...] = ("batch", "time")) -> Tensor | None:
    """Return `mask` as a bool tensor, or None; raise if its shape does not match `x`.

    Args:
        x: `(*axes, features)`, by default `(batch, time, features)`.
        mask: `axes`, by default `(batch, time)`, or None.
        layer: Name of the caller, for the message.
        axes: The axes of the mask.

    Raises:
        ValueError: If the mask has the wrong rank, a known size differs from that of `x`, or the mask contains a number
            other than 0 and 1.
    """
    if mask is None:
        return None
    mask = ops.convert_to_tensor(mask)
    # While tracing, a size may be unknown: None, or an expression on JAX.
    known = (sizes for sizes in zip(x.shape, mask.shape) if all(isinstance(size, int) for size in sizes))
    if len(mask.shape) != len(axes) or any(size != expected for size, expected in known):
        raise ValueError(
            f"{layer} expects a mask of shape ({', '.join(axes)}) for input of shape {tuple(x.shape)}, "
            f"but got a mask of shape {tuple(mask.shape)}."
        )
    if keras.backend.standardize_dtype(mask.dtype) != "bool":
        check_values(mask, (mask == 0) | (mask == 1), f"a mask of True and False for {layer}")
    return ops.cast(mask, "bool")


def zero_padding(x: Tensor, mask: Tensor | None) -> Tensor:
    """Set masked positions of `x` to zero, even those with NaN or infinity.

    It selects instead of multiplying by the mask, so NaN reaches neither the result nor the gradient.

    Args:
        x: `(batch, time, features)`, or with further axes before the features.
        mask: `(batch, time)` bool, with the same further axes, or None.
    """
    if mask is None:
        return x
    return ops.where(ops.expand_dims(mask, -1), x, ops.zeros_like(x))


def masked_max(x: Tensor, mask: Tensor | None) -> Tensor:
    """Maximum over the real positions, `(batch, features)`; zeros if a row has none."""
    if 0 in x.shape:
        return ops.zeros((ops.shape(x)[0], x.shape[2]), dtype=x.dtype)
    if mask is None:
        largest = amax(x, axis=1)
        if x.shape[1] is not None:
            return largest
        return ops.where(ops.shape(x)[1] > 0, largest, ops.zeros_like(largest))
    # Exported ONNX models turn infinity into NaN.
    lowest = ops.full_like(x, -1e30 if in_export_mode() else -float("inf"))
    largest = amax(ops.where(ops.expand_dims(mask, -1), x, lowest), axis=1)
    return ops.where(ops.any(mask, axis=1, keepdims=True), largest, ops.zeros_like(largest))


def masked_mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over the real positions, `(batch, features)`, in at least float32; zeros if a row has none."""
    dtype = keras.backend.standardize_dtype(x.dtype)
    x = ops.cast(x, accumulation_dtype(dtype))
    if mask is None:
        count = ops.maximum(ops.cast(ops.shape(x)[1], x.dtype), 1)
        mean = ops.sum(x, axis=1) / count  # `ops.mean` rounds float64 on PyTorch
    else:
        count = ops.sum(ops.cast(mask, x.dtype), axis=1, keepdims=True)
        mean = ops.sum(zero_padding(x, mask), axis=1) / ops.maximum(count, 1)
    return ops.cast(mean, dtype)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the real positions, in at least float32; 0 at masked positions and in rows without real ones.

    Args:
        scores: `(batch, time)`, or with further axes before the time.
        mask: Bool, broadcastable to the scores, or None.

    Returns:
        The weights in the shape of the scores, float64 for float64 scores, float32 otherwise.
    """
    scores = ops.cast(scores, accumulation_dtype(keras.backend.standardize_dtype(scores.dtype)))
    if scores.shape[-1] == 0:
        return scores
    if mask is None:
        return ops.softmax(scores, axis=-1)
    # Finite, so that rows of padding have a softmax, too; exp(-1e30 - max) is exactly 0.
    weights = ops.softmax(ops.where(mask, scores, ops.full_like(scores, -1e30)), axis=-1)
    return ops.where(mask, weights, ops.zeros_like(weights))


def not_empty(x: Tensor, mask: Tensor | None) -> Tensor | None:
    """`(batch,)` bool: whether a row of `x`, `(batch, time, features)`, has a real word; None if all are known to."""
    if mask is not None:
        return ops.any(mask, axis=1)
    if isinstance(x.shape[1], int) and x.shape[1]:
        return None
    batch, time = ops.shape(x)[:2]
    return ops.zeros((batch,), dtype="int32") + ops.cast(time, "int32") > 0


def pad_empty(x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Give sentences of length 0 one masked word of zeros, because loops and convolutions need one.

    The caller trims its result to the original length.

    Args:
        x: `(batch, time, features)`.
        mask: `(batch, time)` bool, or None, which stays None.
    """
    return pad_empty_axis(x, 1), None if mask is None else pad_empty_axis(mask, 1)


def pad_empty_axis(x: Tensor, axis: int) -> Tensor:
    """Return `x`, or zeros of size 1 along an axis of size 0, even if the size is known only at run time."""
    if x.shape[axis] not in (None, 0):
        return x
    shape = list(ops.shape(x))
    shape[axis] = 1 if x.shape[axis] == 0 else ops.cast(ops.equal(shape[axis], 0), "int32")
    return ops.concatenate([x, ops.zeros(shape, dtype=x.dtype)], axis=axis)


def indices(mask: Tensor, axis: int) -> Tensor:
    """0, 1, 2, ... along an axis of `mask`, `(size,)` int32."""
    if in_jax_export():  # jax2onnx mistakes the end of a range for another size
        return ops.cumsum(ops.ones_like(ops.any(mask, axis=[i for i in range(mask.ndim) if i != axis]), "int32")) - 1
    return ops.arange(ops.shape(mask)[axis], dtype="int32")


def is_first(mask: Tensor) -> Tensor:
    """`(batch, time)` bool, True at the first real word."""
    from_end = ops.shape(mask)[1] - indices(mask, 1)
    return mask & (from_end == _largest(mask, from_end))


def is_last(mask: Tensor) -> Tensor:
    """`(batch, time)` bool, True at the last real word."""
    from_start = 1 + indices(mask, 1)
    return mask & (from_start == _largest(mask, from_start))


def _largest(mask: Tensor, position: Tensor) -> Tensor:
    """`(batch, 1)`: the largest position of a real word; 0 if there is none."""
    if 0 in mask.shape:
        return ops.zeros((ops.shape(mask)[0], 1), dtype="int32")
    position = ops.where(mask, position, ops.zeros_like(position))
    return amax(pad(position, ((0, 0), (0, 1))), axis=1, keepdims=True)  # a row may be empty
