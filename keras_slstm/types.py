"""Types shared by the whole package."""

from __future__ import annotations

from typing import Any

# A tensor of the backend that Keras runs on, or what can be converted into one.
Tensor = Any
Tensors = tuple[Tensor, ...]
