"""Checks of constructor arguments: wrong ones fail at construction, with the value and what was expected."""

from __future__ import annotations

from numbers import Integral
from typing import Any


def check_integer(name: str, value: Any, least: int) -> int:
    """Return `value` as an int, or raise ValueError if it is no integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, but got {value!r}.")
    return int(value)


def check_rate(name: str, value: Any) -> float:
    """Return `value` as it is, or raise ValueError if it is no dropout rate."""
    if not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ValueError(f"`{name}` must be in [0, 1), but got {value!r}.")
    return value
