"""A value that a context manager sets for the current thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

Value = TypeVar("Value")


class ThreadValue(threading.local, Generic[Value]):
    """A value of its own in each thread.

    Not a context variable, which `torch.compile` cannot trace. Tasks of asyncio that share a thread share the value.

    Args:
        value: The value at the start of each thread.
    """

    def __init__(self, value: Value) -> None:  # runs in each thread
        # In the instance, because `torch.compile` cannot check an attribute of the class.
        self.value = value

    @contextlib.contextmanager
    def set_to(self, value: Value) -> Iterator[None]:
        """Replace the value inside the context."""
        before, self.value = self.value, value
        try:
            yield
        finally:
            self.value = before
