"""Types shared by the whole package."""

from __future__ import annotations

from typing import Any

# A tensor of the backend that Keras runs on, or anything that can be converted to one.
Tensor = Any
Tensors = tuple[Tensor, ...]
# The size of each axis: an integer, None where it is not known yet, or a tensor in a graph.
Shape = tuple[Any, ...]
