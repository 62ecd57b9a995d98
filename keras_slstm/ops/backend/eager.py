"""Shortcuts for eager code on PyTorch, where one Keras operation costs as much as five of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import keras
from keras import ops

from keras_slstm.types import Tensor

Saved = TypeVar("Saved")


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


def is_differentiated() -> bool:
    """Whether a gradient written by hand is itself differentiated on PyTorch (`create_graph=True`)."""
    if keras.backend.backend() != "torch":
        return False
    import torch

    return torch.is_grad_enabled() and not torch_compiles()  # compiled functions have no second derivatives


def saved_or_again(saved: Saved, compute: Callable[[], Saved]) -> Saved:
    """Return the results that a function saved for its gradient, or compute them again if that is differentiated.

    PyTorch runs such a function without a graph, so that its second derivative would take the saved results for
    constants. The other backends record how the results depend on the arguments.
    """
    return compute() if is_differentiated() else saved


def cond(condition: Tensor, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """Like `keras.ops.cond`, without the overhead of creating an operation on PyTorch."""
    if runs_torch_eagerly() and not condition.is_meta:
        return then() if condition else otherwise()
    return ops.cond(condition, then, otherwise)
