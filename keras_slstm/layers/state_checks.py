"""Checks the states given to a recurrent layer or cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_slstm.types import Tensor


def check_states(states: Sequence[Tensor], sizes: Sequence[int], batch: Any, layer: str, kind: str = "states") -> None:
    """Raise ValueError unless there is a state `(batch, size)` for each size.

    Args:
        states: The given states.
        sizes: The expected numbers of features.
        batch: The number of rows; while tracing it may be unknown.
        layer, kind: The caller and what it calls its states, for the message.
    """
    if len(states) != len(sizes):
        raise ValueError(f"{layer} expects {len(sizes)} {kind}, but got {len(states)}.")
    for number, (state, size) in enumerate(zip(states, sizes), start=1):
        shape = tuple(state.shape)
        known = (pair for pair in zip(shape, (batch, size)) if all(isinstance(n, int) for n in pair))
        if len(shape) != 2 or any(found != expected for found, expected in known):
            raise ValueError(
                f"{layer} expects {kind} of shape (batch, units) = ({batch}, {size}), but state {number} has the "
                f"shape {shape}."
            )
