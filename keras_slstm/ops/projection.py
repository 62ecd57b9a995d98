"""The product of a sequence of vectors with a matrix."""

from __future__ import annotations

from keras import ops

from keras_slstm.types import Tensor


def project(x: Tensor, kernel: Tensor) -> Tensor:
    """Multiply each vector of `x`, `(batch, time, features)`, by `kernel`, `(features, units)`.

    The product is one of two matrices: with three axes, its gradient on JAX would copy both operands into another
    layout. It is written `@`, because `ops.matmul` rounds float64 to float32 on PyTorch and JAX (keras#23704).

    Returns:
        `(batch, time, units)`.
    """
    product = ops.reshape(x, (-1, x.shape[-1])) @ ops.convert_to_tensor(kernel)
    return ops.reshape(product, (*ops.shape(x)[:2], kernel.shape[-1]))
