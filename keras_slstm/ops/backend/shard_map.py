"""Runs a function on each device's rows of a batch (JAX data parallelism)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras


def shard_map(function: Callable[..., Any], weights: Any, *inputs: Any) -> Any:
    """Compute `function(weights, *inputs)` with one call per device under `keras.distribution.DataParallel`.

    If a function uses the same weights several times, XLA sums their gradient over all devices at every use. Here each
    device first sums the gradients of its own rows, so they are exchanged once, as one vector. On one device, on other
    backends, and if the number of rows is not divisible by the number of devices, this is a plain call.

    Args:
        function: Computes each row independently, without random numbers.
        weights: Nested structure of tensors or None.
        *inputs: Nested structures of tensors whose first axis is the batch, or None.

    Returns:
        The function's outputs: tensors whose first axis is the batch.
    """
    mesh = _device_mesh()
    if mesh is None or any(x is not None and x.shape[0] % mesh.size for x in keras.tree.flatten(inputs)):
        return function(weights, *inputs)
    import jax
    from jax.flatten_util import ravel_pytree
    from jax.sharding import PartitionSpec

    # Gloo exchanges arrays one after the other. On a busy core, even a small one takes milliseconds.
    vector, as_weights = ravel_pytree(weights)

    def function_of_vector(vector: Any, *rows: Any) -> Any:
        return function(as_weights(vector), *rows)

    batch = PartitionSpec(mesh.axis_names[0])
    specs = (PartitionSpec(), *[batch] * len(inputs))
    return jax.shard_map(function_of_vector, mesh=mesh, in_specs=specs, out_specs=batch, check_vma=False)(
        vector, *inputs
    )


def _device_mesh() -> Any:
    """JAX's mesh of the data-parallel devices; None without data parallelism, on one device, and on other backends."""
    if keras.backend.backend() != "jax":
        return None
    distribution = keras.distribution.distribution()
    if not isinstance(distribution, keras.distribution.DataParallel):
        return None
    mesh = distribution.device_mesh.backend_mesh
    return mesh if mesh.size > 1 else None
