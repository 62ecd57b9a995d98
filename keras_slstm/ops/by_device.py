"""A function of rows and weights, computed by each device for its own rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras


def by_device(function: Callable[..., Any], weights: Any, *rows: Any) -> Any:
    """`function(weights, *rows)`, for a function that uses the same weights several times.

    On JAX under `keras.distribution.DataParallel`, the compiler divides the rows among the devices, and sums the
    gradient of the weights over all of them at every single use. Here each device sums up its own first, so that
    they travel once.

    Args:
        function: Must compute every row by itself, and without random numbers.
        weights: Tensors, or None, in any nested structure.
        *rows: Tensors whose first axis is the batch, or None, likewise.

    Returns:
        What the function returns: tensors whose first axis is the batch.
    """
    mesh = _mesh()
    if mesh is None or any(x is not None and x.shape[0] % mesh.size for x in keras.tree.flatten(rows)):
        return function(weights, *rows)
    import jax
    from jax.sharding import PartitionSpec

    here = PartitionSpec(mesh.axis_names[0])
    return jax.shard_map(
        function, mesh=mesh, in_specs=(PartitionSpec(), *[here] * len(rows)), out_specs=here, check_vma=False
    )(weights, *rows)


def _mesh() -> Any:
    """The devices of JAX that share out the rows; None for one device, and for other backends."""
    if keras.backend.backend() != "jax":
        return None
    distribution = keras.distribution.distribution()
    if not isinstance(distribution, keras.distribution.DataParallel):
        return None
    mesh = distribution.device_mesh.backend_mesh
    return mesh if mesh.size > 1 else None
