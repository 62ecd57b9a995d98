"""Helpers for `torch.compile`: operations that it traces, in place of those of Keras that it does not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import keras
from keras import ops

from keras_slstm.types import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


def untraced(function: Function) -> Function:
    """Make `torch.compile` run a function as it is, because it cannot trace it."""
    if keras.backend.backend() != "torch":
        return function
    import torch

    return torch.compiler.disable(function)  # type: ignore[no-any-return, no-untyped-call]


def constant_in_traces(function: Function) -> Function:
    """Make `torch.compile` call a function while it traces, and keep the result."""
    if keras.backend.backend() != "torch":
        return function
    import torch

    return torch.compiler.assume_constant_result(function)  # type: ignore[no-any-return, no-untyped-call]


def pad(x: Tensor, pad_width: Sequence[tuple[int, int]], constant_values: int = 0) -> Tensor:
    """Like `keras.ops.pad`, which names each call, so that `torch.compile` would compile each of them anew."""
    if keras.backend.backend() == "torch":
        import torch

        if isinstance(x, torch.Tensor):
            widths = list(itertools.chain.from_iterable(reversed(pad_width)))
            return torch.nn.functional.pad(x, widths, value=constant_values)
    return ops.pad(x, pad_width, constant_values=constant_values)


def amax(x: Tensor, axis: int | tuple[int, ...], keepdims: bool = False) -> Tensor:
    """Like `keras.ops.max`, which looks for an attribute of its result that `torch.compile` does not know."""
    if keras.backend.backend() == "torch":
        import torch

        if isinstance(x, torch.Tensor):
            return torch.amax(x, axis, keepdims)
    return ops.max(x, axis=axis, keepdims=keepdims)
