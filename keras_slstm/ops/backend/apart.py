"""A part of a computation that has its own memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras


def run_apart(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function, and let its memory be used again afterwards.

    XLA on CPUs reserves the results of several loops from the beginning if nothing that they need is computed before.
    A branch of a condition has its results only while it runs.

    Args:
        function: A function without side effects.
        *args: Its arguments, nested floating tensors.
    """
    if keras.backend.backend() != "jax":
        return function(*args)
    import jax
    import jax.numpy as jnp

    def zeros(*args: Any) -> Any:
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(function, *args))

    number = sum(jnp.sum(x) for x in jax.tree.leaves(args))  # of all tensors, because some may be constants
    always = (number == number) | jnp.isnan(number)  # XLA does not notice
    return jax.lax.cond(always, function, zeros, *args)
