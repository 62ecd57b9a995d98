"""Dropout, and dropout masks that a layer draws once for all words or steps."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops.backend.recomputed import restores_dropout
from keras_slstm.ops.seeds import current_seed
from keras_slstm.types import Tensor


def dropout(x: Tensor, rate: float, seed: keras.random.SeedGenerator) -> Tensor:
    """`x` times factors that are 0 with probability `rate`, else 1 / (1 - rate)."""
    return keras.random.dropout(x, rate, seed=current_seed(seed, restores_dropout(seed)))


def dropout_mask(like: Tensor, rate: float, seed: keras.random.SeedGenerator) -> Tensor:
    """Factors in the shape and dtype of `like`: 0 with probability `rate`, else 1 / (1 - rate)."""
    return dropout(ops.ones_like(like), rate, seed)
