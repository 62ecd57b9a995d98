"""Checks of a layer's arguments and input shape: wrong ones fail early, with the value and what was expected."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def check_integer(name: str, value: Any, least: int) -> int:
    """Return `value` as an int, or raise ValueError if it is no integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, but got {value!r}.")
    return int(value)


def check_rate(name: str, value: Any) -> float:
    """Return `value` as a float, or raise ValueError if it is no dropout rate."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < 1:
        raise ValueError(f"`{name}` must be in [0, 1), but got {value!r}.")
    return float(value)


def check_bool(name: str, value: Any) -> bool:
    """Return `value` as a bool, or raise ValueError if it is none: the string "no" would count as true."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"`{name}` must be True or False, but got {value!r}.")
    return bool(value)


def check_features(input_shape: tuple, layer: str) -> int:
    """Return the number of features of the input, or raise ValueError if it is unknown."""
    if input_shape[-1] is None:
        raise ValueError(
            f"{layer} expects input whose last dimension, the number of features, is known, "
            f"but got input of shape {tuple(input_shape)}."
        )
    return int(input_shape[-1])
