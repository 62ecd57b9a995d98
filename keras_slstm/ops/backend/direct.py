"""Operations of `keras.ops` on tensors of the backend.

Before it runs an operation on PyTorch, `keras.ops` looks for symbolic tensors and converts the arguments. For a single
sentence, this takes longer than most operations. Kernels compute with tensors of the backend alone, and call PyTorch
directly; on the other backends, which trace a kernel only once, these are the functions of `keras.ops`.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.ops.backend import precision
from keras_slstm.types import Tensor

_torch: Any = importlib.import_module("torch") if keras.backend.backend() == "torch" else None


def tensor(x: Any) -> Tensor:
    """Return the tensor of a variable, or `x` itself."""
    return x if _torch and isinstance(x, _torch.Tensor) else ops.convert_to_tensor(x)


def sigmoid(x: Tensor) -> Tensor:
    """`ops.sigmoid`."""
    return _torch.sigmoid(x) if _torch else ops.sigmoid(x)


def tanh(x: Tensor) -> Tensor:
    """`ops.tanh`, in the dtype of `x`."""
    return _torch.tanh(x) if _torch else precision.tanh(x)


def exp(x: Tensor) -> Tensor:
    """`ops.exp`."""
    return _torch.exp(x) if _torch else ops.exp(x)


def concatenate(parts: Sequence[Tensor], axis: int) -> Tensor:
    """`ops.concatenate`, for tensors of the same dtype."""
    return _torch.cat([*parts], axis) if _torch else ops.concatenate([*parts], axis=axis)


def split(x: Tensor, parts: int) -> list[Tensor]:
    """`ops.split` of the last axis into equal parts."""
    return list(_torch.chunk(x, parts, -1)) if _torch else ops.split(x, parts, axis=-1)


def shape(x: Tensor) -> tuple[Any, ...]:
    """`ops.shape`."""
    return tuple(x.shape) if _torch else ops.shape(x)


def reshape(x: Tensor, to: Sequence[Any]) -> Tensor:
    """`ops.reshape`."""
    return _torch.reshape(x, to) if _torch else ops.reshape(x, to)


def expand_dims(x: Tensor, axis: int) -> Tensor:
    """`ops.expand_dims`."""
    return _torch.unsqueeze(x, axis) if _torch else ops.expand_dims(x, axis)


def broadcast_to(x: Tensor, to: Sequence[Any]) -> Tensor:
    """`ops.broadcast_to`."""
    return _torch.broadcast_to(x, to) if _torch else ops.broadcast_to(x, to)


def cast(x: Tensor, dtype: str) -> Tensor:
    """`ops.cast`."""
    return x.to(getattr(_torch, dtype)) if _torch else ops.cast(x, dtype)


def add_up(x: Tensor, axis: int) -> Tensor:
    """`ops.sum` of floating numbers over one axis."""
    return _torch.sum(x, axis) if _torch else ops.sum(x, axis=axis)


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """`ops.where`, for tensors of the same dtype."""
    return _torch.where(condition, x, y) if _torch else ops.where(condition, x, y)
