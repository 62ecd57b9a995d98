"""The width at which a model matches another in its number of parameters."""

from __future__ import annotations

from collections.abc import Callable


def equal_width(parameters: Callable[[int], int], wanted: int, step: int = 1) -> int:
    """Return the width that brings a model closest to a number of parameters; of two equally close, the smaller.

    Choi et al. (2019) compare an LSTM of 256 units with a CAS-LSTM of 247, which has roughly as many parameters, so
    that the remaining difference is due to the architecture.

    Args:
        parameters: An increasing function from the width to the number of parameters.
        wanted: The target number of parameters.
        step: Widths are multiples of this.

    Raises:
        ValueError: If `wanted` or `step` is less than 1.

    Example:

    >>> equal_width(lambda units: 4 * units * (2 * units + 1), 1000)
    11
    """
    if wanted < 1 or step < 1:
        raise ValueError(f"`wanted` and `step` must be at least 1, but got {wanted!r} and {step!r}.")
    above = 1
    while parameters(above * step) < wanted:
        above *= 2
    below = above // 2  # 0, or too small
    while above - below > 1:
        middle = (above + below) // 2
        if parameters(middle * step) < wanted:
            below = middle
        else:
            above = middle
    if not below:
        return above * step
    return min((below * step, above * step), key=lambda width: abs(parameters(width) - wanted))
