"""Argument checks. They raise ValueError, naming the invalid value and what was expected."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from keras_slstm.types import Shape


def check_integer(name: str, value: Any, least: int) -> int:
    """Return `value` as an int; raise ValueError unless it is an integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, but got {value!r}.")
    return int(value)


def check_optional_integer(name: str, value: Any, least: int) -> int | None:
    """Return `value` as an int, or None; raise ValueError unless it is None or an integer of at least `least`."""
    if value is None:
        return None
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least} or None, but got {value!r}.")
    return int(value)


def check_rate(name: str, value: Any) -> float:
    """Return `value` as a float; raise ValueError unless it is a dropout rate, in [0, 1)."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < 1:
        raise ValueError(f"`{name}` must be in [0, 1), but got {value!r}.")
    return float(value)


def check_non_negative(name: str, value: Any) -> float:
    """Return `value` as a float; raise ValueError unless it is a finite number of at least 0."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < float("inf"):
        raise ValueError(f"`{name}` must be a number of at least 0, but got {value!r}.")
    return float(value)


def check_bool(name: str, value: Any) -> bool:
    """Return `value` as a bool; raise ValueError unless it is one: the string "no" is truthy."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"`{name}` must be True or False, but got {value!r}.")
    return bool(value)


def check_choice(name: str, value: Any, choices: Collection[Any]) -> Any:
    """Return `value`; raise ValueError unless it is one of `choices`."""
    if not (value is None or isinstance(value, (str, Integral))) or value not in choices:
        *others, last = (f'"{choice}"' if isinstance(choice, str) else str(choice) for choice in choices)
        expected = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"`{name}` must be {expected}, but got {value!r}.")
    return value


def check_features(input_shape: Shape, layer: str) -> int:
    """Return the number of features of the input; raise ValueError if it is unknown."""
    if input_shape[-1] is None:
        raise ValueError(
            f"{layer} needs to know the number of features, the last dimension of its input, "
            f"but got input of shape {tuple(input_shape)}."
        )
    return int(input_shape[-1])
