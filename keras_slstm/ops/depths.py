"""How deep each word goes: eq. 7 to 12 of Liu et al. (2020), as pure functions."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops.masks import zero_padding
from keras_slstm.ops.sinusoids import sinusoidal_code
from keras_slstm.types import Tensor

SELECTIONS = ("gumbel", "hard", "soft", "full")


def choose_depths(logits: Tensor, selection: str, mask: Tensor | None, noise: Tensor | None = None) -> Tensor:
    """The depth of each word (eq. 8, 9 or 11), without a gradient.

    Args:
        logits: `(batch, time, L)`, in at least float32.
        selection: One of `SELECTIONS`.
        mask: `(batch, time)` bool, or None.
        noise: What is added to the logits before the largest is taken, of their shape, or None.

    Returns:
        `(batch, time)` int32: 1 to L at real words, 0 at masked positions.
    """
    if selection == "full":
        depths = ops.full(ops.shape(logits)[:2], logits.shape[-1], dtype="int32")
    elif selection == "soft":
        depths = ops.cast(expected_depth(logits), "int32")  # rounds down
    else:
        depths = 1 + ops.cast(ops.argmax(logits if noise is None else logits + noise, axis=-1), "int32")
    return bounded(depths, logits.shape[-1], mask)


def bounded(depths: Tensor, max_depth: int, mask: Tensor | None) -> Tensor:
    """Depths `(batch, time)`, kept in 1..`max_depth` at real words, and 0 at masked positions."""
    depths = ops.clip(ops.cast(depths, "int32"), 1, max_depth)
    return depths if mask is None else ops.where(mask, depths, ops.zeros_like(depths))


def expected_depth(logits: Tensor) -> Tensor:
    """`sum_j j p_j`, `(batch, time)`, with the probabilities p of eq. 7 and depths j counted from 1."""
    numbers = ops.arange(1, logits.shape[-1] + 1, dtype=keras.backend.standardize_dtype(logits.dtype))
    return ops.sum(ops.softmax(logits, axis=-1) * numbers, axis=-1)


def gumbel_noise(shape: tuple, dtype: str, seed: keras.random.SeedGenerator) -> Tensor:
    """Independent Gumbel perturbations (eq. 10): an arg max over perturbed logits draws from their softmax."""
    return -ops.log(-ops.log(keras.random.uniform(shape, dtype=dtype, seed=seed)))


def depth_embedding(depths: Tensor, kernel: Tensor, mask: Tensor | None) -> Tensor:
    """The vectors of depths: the columns of W2 that belong to them, and their sinusoidal codes (eq. 12).

    Args:
        depths: `(batch, time)` int32.
        kernel: W2, `(size, L)`.
        mask: `(batch, time)` bool, or None.

    Returns:
        `(batch, time, size)` in the dtype of the kernel, zero at masked positions.
    """
    dtype = keras.backend.standardize_dtype(kernel.dtype)
    size, max_depth = kernel.shape
    table = ops.transpose(kernel) + sinusoidal_code(ops.arange(1, max_depth + 1, dtype="int32"), size, dtype)
    # A product, as the gradient of a look-up is a sum over all words, row by row.
    chosen = ops.one_hot(depths - 1, max_depth, dtype=dtype)
    batch, time = ops.shape(depths)
    vectors = ops.reshape(ops.reshape(chosen, (-1, max_depth)) @ table, (batch, time, size))
    return zero_padding(vectors, mask)
