"""Kernels that are used in every step of a loop, whose gradient is one product over all steps.

Autodiff computes a gradient of the kernel for each step and adds them up. If the steps have few rows, writing and
reading these sums takes longer than the products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_slstm.ops.projection import project
from keras_slstm.types import Tensor, Tensors

Function = Callable[[Any, Any], Any]


class JoinedKernel(NamedTuple):
    """A kernel inside of `join_gradients`, for `multiply`."""

    shape: tuple[int, ...]
    multiply: Callable[[Tensor], Tensor]


def multiply(x: Tensor, kernel: Tensor | JoinedKernel) -> Tensor:
    """Multiply each vector of `x`, `(rows, inputs)` or `(batch, time, inputs)`, by `kernel`, `(inputs, units)`."""
    if isinstance(kernel, JoinedKernel):
        product = kernel.multiply(ops.reshape(x, (-1, x.shape[-1])))
        return ops.reshape(product, (*ops.shape(x)[:-1], kernel.shape[-1]))
    return project(x, kernel) if len(x.shape) == 3 else x @ kernel


def join_gradients(function: Function, kernels: Tensors, arguments: Any) -> Any:
    """Return `function(kernels, arguments)`, with one product for the gradient of each kernel.

    On PyTorch, whose eager code gains nothing from it, this only calls the function.

    Args:
        function: Uses the kernels by `multiply` alone, and no other tensor with a gradient than its arguments.
        kernels: Matrices, `(inputs, units)` each.
        arguments: Nested tensors; they may hold None and numbers.
    """
    if keras.backend.backend() == "torch":
        return function(kernels, arguments)
    leaves = keras.tree.flatten(arguments)
    places = [i for i, x in enumerate(leaves) if ops.is_tensor(x)]
    form: Any = None

    def flat(kernels: Sequence[JoinedKernel], tensors: Tensors) -> Tensors:
        nonlocal form
        given = dict(zip(places, tensors, strict=True))
        found = function(
            tuple(kernels), keras.tree.pack_sequence_as(arguments, [given.get(i, x) for i, x in enumerate(leaves)])
        )
        form = keras.tree.map_structure(lambda x: None if x is None else 0, found)
        return tuple(x for x in keras.tree.flatten(found) if x is not None)

    run = {"tensorflow": _tensorflow, "jax": _jax}[keras.backend.backend()]
    tensors = tuple(ops.convert_to_tensor(leaves[i]) for i in places)
    outputs = iter(run(flat, tuple(ops.convert_to_tensor(kernel) for kernel in kernels), tensors))
    return keras.tree.map_structure(lambda x: None if x is None else next(outputs), form)


class _Record:
    """The operands and the results of all products."""

    def __init__(self, kernels: Tensors, product: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.kernels, self.product = kernels, product
        self.used: list[int] = []
        self.operands: list[Tensor] = []
        self.products: list[Tensor] = []

    def joined_kernels(self) -> list[JoinedKernel]:
        def of(index: int) -> JoinedKernel:
            return JoinedKernel(tuple(self.kernels[index].shape), lambda x: self._multiply(index, x))

        return [of(index) for index in range(len(self.kernels))]

    def _multiply(self, index: int, x: Tensor) -> Tensor:
        self.used.append(index)
        self.operands.append(x)
        self.products.append(self.product(x, self.kernels[index]))
        return self.products[-1]


def _kernel_gradients(kernels: Tensors, used: list[int], operands: list[Tensor], upstream: list[Tensor]) -> Tensors:
    gradients = []
    for index, kernel in enumerate(kernels):
        pairs = [(x, d) for i, x, d in zip(used, operands, upstream, strict=True) if i == index and d is not None]
        if not pairs:
            gradients.append(ops.zeros_like(kernel))
            continue
        x, d = (ops.concatenate(list(rows)) if len(rows) > 1 else rows[0] for rows in zip(*pairs, strict=True))
        gradients.append(ops.transpose(x) @ d)
    return tuple(gradients)


def _jax(function: Function, kernels: Tensors, tensors: Tensors) -> Tensors:
    import jax

    used: list[int] = []

    def record(kernels: Tensors, tensors: Tensors, shifts: Sequence[Tensor] | None) -> tuple[Tensors, list[Tensor]]:
        """Also return the operands. The gradient of a zero that is added to a product is that of the product."""
        remaining = None if shifts is None else iter(shifts)
        found = _Record(kernels, lambda x, kernel: x @ kernel if remaining is None else x @ kernel + next(remaining))
        outputs = function(found.joined_kernels(), tensors)
        used[:] = found.used
        return outputs, found.operands if remaining is not None else found.products

    @jax.custom_vjp
    def run(kernels: Tensors, tensors: Tensors) -> Tensors:
        return record(kernels, tensors, None)[0]

    def forward(kernels: Tensors, tensors: Tensors) -> tuple[Tensors, Any]:
        products = jax.eval_shape(lambda kernels, tensors: record(kernels, tensors, None)[1], kernels, tensors)
        shifts = [jax.numpy.zeros(product.shape, product.dtype) for product in products]
        outputs, back, operands = jax.vjp(
            lambda tensors, shifts: record(kernels, tensors, shifts), tensors, shifts, has_aux=True
        )
        return outputs, (back, kernels, operands)

    def backward(saved: Any, upstream: Tensors) -> tuple[Tensors, Tensors]:
        back, kernels, operands = saved
        d_tensors, d_products = back(upstream)
        return _kernel_gradients(kernels, used, operands, d_products), d_tensors

    run.defvjp(forward, backward)
    return run(kernels, tensors)  # type: ignore[no-any-return]


def _tensorflow(function: Function, kernels: Tensors, tensors: Tensors) -> Tensors:
    import tensorflow as tf

    @tf.custom_gradient
    def run(*args: Tensor) -> Any:
        kernels_now, tensors_now = args[: len(kernels)], args[len(kernels) :]
        found = _Record(kernels_now, lambda x, kernel: x @ kernel)
        floats = [x for x in tensors_now if x.dtype.is_floating]
        # Persistent, because the gradient may be computed twice.
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(floats)
            outputs = function(found.joined_kernels(), tensors_now)

        def gradient(*upstream: Tensor) -> Tensors:
            d_floats, d_products = tape.gradient(outputs, (floats, found.products), output_gradients=upstream)
            d_kernels = _kernel_gradients(kernels_now, found.used, found.operands, d_products)
            remaining = iter(d_floats)
            return *d_kernels, *(next(remaining) if x.dtype.is_floating else None for x in tensors_now)

        return outputs, gradient

    # Tensors, because the gradients of variables would be passed separately.
    return tuple(run(*map(tf.convert_to_tensor, (*kernels, *tensors))))
