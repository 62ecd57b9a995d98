"""The depth-adaptive GRN: eq. 7 to 14 of Liu, Meng, Chen, Xu and Zhou (2020).

Word i has the logits l_i of eq. 6, a depth d_i between 1 and L, and in layer l the state h_i, c_i of the S-LSTM.
"""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops.backend.argmax import argmax
from keras_slstm.ops.projection import project
from keras_slstm.ops.seeds import current_seed
from keras_slstm.ops.sinusoids import sinusoidal_code
from keras_slstm.ops.slstm import SLSTMWeights, State, initial_state, step
from keras_slstm.types import Shape, Tensor

SELECTIONS = ("gumbel", "hard", "soft", "full")


def choose_depths(logits: Tensor, selection: str, mask: Tensor | None, noise: Tensor | None = None) -> Tensor:
    """The depth of each word (eq. 8, 9 or 11); no gradient passes through it.

    Args:
        logits: `(batch, time, L)`, in at least float32.
        selection: One of `SELECTIONS`.
        mask: `(batch, time)` bool, or None.
        noise: Perturbations of the logits (eq. 10), of the same shape, or None.

    Returns:
        `(batch, time)` int32: 1 to L at real words, 0 at masked positions.
    """
    if selection == "full":
        depths = ops.full(ops.shape(logits)[:2], logits.shape[-1], dtype="int32")
    elif selection == "soft":
        depths = expected_depth(logits)
    else:
        depths = 1 + argmax(logits if noise is None else logits + noise, axis=-1)
    return clip_depths(depths, logits.shape[-1], mask)


def clip_depths(depths: Tensor, max_depth: int, mask: Tensor | None) -> Tensor:
    """Clip depths `(batch, time)` to 1..`max_depth` and round down to int32; 0 at masked positions."""
    depths = ops.cast(ops.clip(depths, 1, max_depth), "int32")
    return depths if mask is None else ops.where(mask, depths, ops.zeros_like(depths))


def expected_depth(logits: Tensor) -> Tensor:
    """`sum_j j p_ij`, `(batch, time)` (eq. 9), with p_i = softmax(l_i) (eq. 7) and j counted from 1."""
    j = ops.arange(1, logits.shape[-1] + 1, dtype=keras.backend.standardize_dtype(logits.dtype))
    return ops.sum(ops.softmax(logits, axis=-1) * j, axis=-1)


def gumbel_noise(shape: Shape, dtype: str, seed: keras.random.SeedGenerator) -> Tensor:
    """Independent Gumbel perturbations (eq. 10): an arg max over perturbed logits draws from their softmax."""
    return -ops.log(-ops.log(keras.random.uniform(shape, dtype=dtype, seed=current_seed(seed))))


def depth_embedding(depths: Tensor, kernel: Tensor) -> Tensor:
    """The column of W_2 that belongs to each depth, plus the sinusoidal code of the depth (eq. 12).

    Args:
        depths: `(batch, time)` int32.
        kernel: W_2, `(size, L)`.

    Returns:
        `(batch, time, size)` in the dtype of the kernel; zero for depth 0.
    """
    dtype = keras.backend.standardize_dtype(kernel.dtype)
    size, max_depth = kernel.shape
    table = ops.transpose(kernel) + sinusoidal_code(ops.arange(1, max_depth + 1, dtype="int32"), size, dtype)
    # A product, because the gradient of a lookup is accumulated row by row.
    return project(ops.one_hot(depths - 1, max_depth, dtype=dtype), table)


def depth_adaptive_grn(
    weights: SLSTMWeights,
    x: Tensor,
    mask: Tensor | None,
    h0: Tensor,
    depths: Tensor | None,
    max_depth: int,
    h_dropout_mask: Tensor | None = None,
    g_dropout_mask: Tensor | None = None,
    training: bool = False,
    rematerialize: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Update each word up to its depth (eq. 14).

    In layer l, the words with d_i >= l take an S-LSTM step from the current states of all words; the others keep their
    states. The sentence node takes as many steps as the deepest word of its sentence.

    Args:
        weights: The weights of the S-LSTM with k = m = 1.
        x: `(batch, time, e)`, [x_i; embedding of d_i] (eq. 13).
        mask: `(batch, time)` bool, or None.
        h0: `(batch, time, d)`, the first h_i, whose mean over the words is the first g.
        depths: `(batch, time)` int32: 1 to `max_depth`, and 0 at masked positions; None for `max_depth` everywhere.
        max_depth: L.
        h_dropout_mask, g_dropout_mask: As in `keras_slstm.ops.slstm.slstm`.
        training: Whether a gradient will be taken; it changes only the speed of the kernel.
        rematerialize: Whether the gradient of the kernel recomputes one layer at a time.

    Returns:
        h, `(batch, time, d)`, g and c_g, `(batch, 1, d)`.
    """
    state = initial_state(weights, x, mask, h0)
    for layer in range(1, max_depth + 1):
        new = step(weights, x, mask, state, h_dropout_mask, g_dropout_mask)
        state = new if depths is None else select(depths, layer, new, state)
    return state.h, state.g, state.c_g


def select(depths: Tensor, layer: int, new: State, old: State) -> State:
    """Eq. 14: the new state where the depth is not yet reached, else the old one."""
    runs = ops.expand_dims(depths >= layer, -1)
    node_runs = ops.any(runs, axis=1, keepdims=True)
    return State(
        ops.where(runs, new.h, old.h),
        ops.where(runs, new.c, old.c),
        ops.where(node_runs, new.g, old.g),
        ops.where(node_runs, new.c_g, old.c_g),
    )
