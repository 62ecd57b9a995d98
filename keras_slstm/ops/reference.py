"""The switch between equations, which read like the papers, and kernels, which are fast.

`KERAS_SLSTM_REFERENCE=1` in the environment, or the context manager `reference_mode`, runs every layer on the
equations: for teaching, for debugging, and to see whether a kernel is at fault.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from keras_slstm.ops.backend.thread_value import ThreadValue
from keras_slstm.ops.export_mode import in_export_mode

Function = TypeVar("Function", bound=Callable[..., Any])


_reference_mode = ThreadValue(os.environ.get("KERAS_SLSTM_REFERENCE", "0") not in ("", "0"))


class Pair(NamedTuple):
    """An equation and its kernel."""

    equation: Callable[..., Any]
    kernel: Callable[..., Any]


# Every pair by the qualified name of its kernel; the tests compare them all.
PAIRS: dict[str, Pair] = {}


@contextlib.contextmanager
def reference_mode(enabled: bool = True) -> Iterator[None]:
    """Run layers on the equations (or, with `enabled=False`, on the kernels) inside the context.

    The choice is made when a function is traced: build and call a compiled model inside the context. It holds for the
    current thread; do not `await` inside the context.

    Example:

    ```python
    with keras_slstm.ops.reference.reference_mode():
        expected = layer(x)
    ```
    """
    with _reference_mode.set_to(enabled):
        yield


def in_reference_mode() -> bool:
    """Whether layers currently run on the equations."""
    return _reference_mode.value


def kernel_of(equation: Callable[..., Any], exports: bool = False) -> Callable[[Function], Function]:
    """Pair a kernel with its equation; in reference mode, calling the kernel calls the equation.

    Args:
        equation: A function with the name and the parameters of the decorated one.
        exports: Whether the kernel also runs in export mode, because converters support all its operations.

    Raises:
        TypeError: If name or parameters differ.
    """

    def decorate(kernel: Function) -> Function:
        for what, one, other in (
            ("name", equation.__name__, kernel.__name__),
            ("parameters", *(str([*inspect.signature(f).parameters.values()]) for f in (equation, kernel))),
        ):
            if one != other:
                raise TypeError(f"A kernel must have the {what} of its equation, {one}, but got {other}.")

        @functools.wraps(kernel)
        def run(*args: Any, **kwargs: Any) -> Any:
            by_equation = in_reference_mode() or (in_export_mode() and not exports)
            return (equation if by_equation else kernel)(*args, **kwargs)

        PAIRS[f"{kernel.__module__}.{kernel.__qualname__}"] = Pair(equation, kernel)
        return run  # type: ignore[return-value]

    return decorate
