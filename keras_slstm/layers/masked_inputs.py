"""Prepares the input of a layer that supports masks."""

from __future__ import annotations

import keras
from keras import ops

from keras_slstm.ops.masks import check_mask, zero_padding
from keras_slstm.types import Tensor


def masked_inputs(
    layer: keras.layers.Layer, inputs: Tensor, mask: Tensor | None, axes: tuple[str, ...] = ("batch", "time")
) -> tuple[Tensor, Tensor | None]:
    """Prepare the input of a layer.

    Args:
        layer: The layer, for its name and compute dtype.
        inputs: `(*axes, features)`, of any dtype.
        mask: `axes`, or None.
        axes: Names of the axes of the mask.

    Returns:
        The input in the compute dtype, zero at masked positions, and the mask as bool.

    Raises:
        ValueError: If the mask has the wrong shape, or values other than True and False.
    """
    mask = check_mask(inputs, mask, layer.name, axes)
    return zero_padding(ops.cast(inputs, layer.compute_dtype), mask), mask
