"""The switch between equations and kernels."""

from __future__ import annotations

import pytest

from keras_slstm.ops.reference import PAIRS, in_reference_mode, kernel_of, reference_mode


def square(x: int) -> int:
    return x * x


def renamed(y: int) -> int:
    return y**2


renamed.__name__ = "square"


def test_kernel_runs_unless_in_reference_mode():
    def slow(x: int) -> str:
        return "equation"

    slow.__name__ = "pair"

    @kernel_of(slow)
    def pair(x: int) -> str:
        return "kernel"

    try:
        assert pair(1) == "kernel"
        with reference_mode():
            assert in_reference_mode()
            assert pair(1) == "equation"
            with reference_mode(False):
                assert pair(1) == "kernel"
        assert pair(1) == "kernel"
    finally:
        del PAIRS[f"{__name__}.{pair.__qualname__}"]


def test_other_name_or_parameters_are_refused():
    with pytest.raises(TypeError, match="name of its equation, square, but got twice"):

        @kernel_of(square)
        def twice(x: int) -> int:
            return 2 * x

    with pytest.raises(TypeError, match="parameters"):
        kernel_of(square)(renamed)
