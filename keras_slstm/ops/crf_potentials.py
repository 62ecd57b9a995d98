"""The output of a CRF layer: label scores, transition scores and the mask, packed into one tensor."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_slstm.ops.backend.concatenate import concatenate
from keras_slstm.ops.backend.eager import runs_torch_eagerly
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.ops.backend.value_checks import value_of
from keras_slstm.ops.crf import Potentials, bounded
from keras_slstm.ops.masks import zero_padding
from keras_slstm.types import Tensor


def pack(unary: Tensor, transitions: Tensor, mask: Tensor) -> Tensor:
    """Pack potentials into one tensor, which models, losses and files can pass on.

    Args:
        unary, transitions, mask: See `Potentials`; unary and transitions have the same dtype.

    Returns:
        With K labels, `(batch, time + K, K + 1)`: one row per word with its unary scores and, in the last column, the
        mask; then the K rows of the transitions. In the pairwise form, `(batch, time, K + 1, K + 1)`: for each word
        the rows of its transitions, then a row of its unary scores with the mask at the end.
    """
    if runs_torch_eagerly(unary, transitions, mask):
        from keras_slstm.ops.kernels import crf_torch_potentials

        return crf_torch_potentials.pack(unary, transitions, mask)
    words = ops.concatenate([unary, ops.expand_dims(ops.cast(mask, unary.dtype), -1)], axis=2)
    # Not `ops.pad`: in a RematScope on TensorFlow, it doubles the gradient of a variable.
    transitions = ops.concatenate([transitions, ops.zeros_like(transitions[..., :1])], axis=-1)
    if len(transitions.shape) == 4:
        return ops.concatenate([transitions, ops.expand_dims(words, 2)], axis=2)
    below = ops.broadcast_to(transitions, (ops.shape(unary)[0], *transitions.shape))
    return concatenate([words, below], axis=1)


def unpack(potentials: Tensor) -> Potentials:
    """Recover the arguments of `pack`, in at least float32, with `FORBIDDEN` in place of -inf.

    Raises:
        ValueError: If the tensor cannot be the result of `pack`.
    """
    words_shape(potentials.shape)
    if runs_torch_eagerly(potentials):
        from keras_slstm.ops.kernels import crf_torch_potentials

        parts = crf_torch_potentials.unpack(potentials)
        if parts is not None:
            return parts
    dtype = accumulation_dtype(keras.backend.standardize_dtype(potentials.dtype))
    potentials = ops.cast(potentials, dtype)
    labels = potentials.shape[-1] - 1
    if len(potentials.shape) == 3:
        words = potentials[:, :-labels]
        # All sentences share the transitions. The sum takes those of the first, if any: a batch may be empty.
        transitions = ops.sum(potentials[:1, -labels:, :labels], axis=0)
        transitions = ops.reshape(transitions, (labels, labels))  # a slice from the end has no static shape
    else:
        words = potentials[:, :, labels]
        transitions = potentials[:, :, :labels, :labels]
    mask = words[..., labels]
    _check_mask(mask)
    mask = mask > 0.5
    return Potentials(bounded(zero_padding(words[..., :labels], mask)), bounded(transitions), mask)


def words_shape(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """`(batch, time)` from the shape of packed potentials; raise ValueError for another shape."""
    # While PyTorch traces, sizes are tensors.
    shape = tuple(int(size) if ops.is_tensor(size) else size for size in shape)
    fits = len(shape) in (3, 4) and isinstance(shape[-1], int) and shape[-1] > 1
    if fits and len(shape) == 3:
        fits = not isinstance(shape[1], int) or shape[1] >= shape[2] - 1
    elif fits:
        fits = shape[2] == shape[3]
    if not fits:
        raise ValueError(
            "Expected the output of a `CRF` layer, (batch, time + labels, labels + 1), or in the pairwise form "
            f"(batch, time, labels + 1, labels + 1), but got a tensor of shape {shape}."
        )
    if len(shape) == 4 or shape[1] is None:
        return shape[:2]
    return shape[0], shape[1] - shape[2] + 1


def _check_mask(mask: Tensor) -> None:
    """Raise ValueError if the values are known and not a mask: the tensor is not from a CRF."""
    values = value_of(mask)
    if values is None:
        return
    valid = (values == 0) | (values == 1)
    if not np.all(valid):
        raise ValueError(
            "Expected the output of a `CRF` layer, with the mask, 0 or 1, in the last column of each word, but got "
            f"{values[~valid][0]} there."
        )
