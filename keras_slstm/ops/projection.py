"""The product of a sequence of vectors with a matrix."""

from __future__ import annotations

from keras_slstm.ops.backend import direct
from keras_slstm.ops.backend.jax_export import in_jax_export
from keras_slstm.types import Tensor


def project(x: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply each vector of `x`, `(batch, time, features)`, by `kernel`, `(features, units)`, and add `bias`.

    It multiplies two matrices: with three axes, its gradient on JAX would copy both operands into another layout. It
    uses `@`, because `ops.matmul` rounds float64 to float32 on PyTorch and JAX (keras#23704). A backend can fuse the
    addition with the product.

    Returns:
        `(batch, time, units)`.
    """
    merge = not in_jax_export()  # jax2onnx cannot split a merged axis again
    product = (direct.reshape(x, (-1, x.shape[-1])) if merge else x) @ direct.tensor(kernel)
    if bias is not None:
        product = product + bias
    return direct.reshape(product, (*direct.shape(x)[:2], kernel.shape[-1])) if merge else product
