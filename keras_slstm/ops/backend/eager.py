"""Shortcuts for eager code on PyTorch, where one Keras operation costs as much as five of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_slstm.types import Tensor


def runs_torch_eagerly(*arrays: Tensor) -> bool:
    """Whether PyTorch runs eagerly, without tracing, and all arrays are its tensors."""
    if keras.backend.backend() != "torch":
        return False
    import torch

    traced = torch_compiles() or torch.jit.is_tracing()  # type: ignore[no-untyped-call]
    return not traced and all(isinstance(x, torch.Tensor) for x in arrays)


def torch_compiles() -> bool:
    """Whether `torch.compile` or `torch.export` traces this call."""
    if keras.backend.backend() != "torch":
        return False
    import torch

    return torch.compiler.is_compiling()


def keeps_no_graph() -> bool:
    """Whether PyTorch records no graph, as in the backward pass of training."""
    if keras.backend.backend() != "torch":
        return False
    import torch

    return not torch.is_grad_enabled()


def cond(condition: Tensor, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """Like `keras.ops.cond`, without the overhead of creating an operation on PyTorch."""
    if runs_torch_eagerly() and not condition.is_meta:
        return then() if condition else otherwise()
    return ops.cond(condition, then, otherwise)
