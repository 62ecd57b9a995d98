"""Calls functions of the Keras backend with tensors of PyTorch or TensorFlow; PyTorch can differentiate them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

BACKEND: str = keras.backend.backend()


def from_torch(function: Callable[..., Any], *tensors: Any) -> Any:
    """Return the result of a function as a PyTorch tensor that is differentiable in the arguments."""
    import torch

    if BACKEND == "torch":
        return function(*tensors)

    class Bridge(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *given: torch.Tensor) -> torch.Tensor:
            ctx.arrays = [x.detach().numpy() for x in given]
            return torch.tensor(ops.convert_to_numpy(function(*map(ops.convert_to_tensor, ctx.arrays))))

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            found = _gradients(function, ctx.arrays, gradient.numpy())
            return tuple(None if x is None else torch.tensor(np.asarray(x)) for x in found)

    return Bridge.apply(*tensors)


def _gradients(function: Callable[..., Any], arrays: list[np.ndarray], weight: np.ndarray) -> list[Any]:
    """Return the gradients of `sum(function(...) * weight)` in the float arrays, and None for others."""
    places = [place for place, x in enumerate(arrays) if x.dtype.kind == "f"]

    def loss(*given: Any) -> Any:
        every = list(map(ops.convert_to_tensor, arrays))
        for place, x in zip(places, given):
            every[place] = x
        return ops.sum(function(*every) * weight)

    own = [ops.convert_to_tensor(arrays[place]) for place in places]
    if BACKEND == "jax":
        import jax

        found = jax.grad(loss, argnums=tuple(range(len(own))))(*own)
    else:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(own)
            total = loss(*own)
        found = tape.gradient(total, own)
    gradients: list[Any] = [None] * len(arrays)
    for place, x in zip(places, found):
        gradients[place] = x
    return gradients


def from_tensorflow(function: Callable[..., Any], *tensors: Any) -> Any:
    """Return the results of a function as TensorFlow tensors."""
    import tensorflow as tf

    if BACKEND == "tensorflow":
        return function(*map(tf.convert_to_tensor, tensors))
    found = function(*(ops.convert_to_tensor(np.asarray(x)) for x in tensors))
    return keras.tree.map_structure(lambda x: tf.convert_to_tensor(ops.convert_to_numpy(x)), found)
