"""Every kernel gives the values and the gradients of its equation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.reference import PAIRS, reference_mode
from tests.backend import dtype_policy, gradients, outputs
from tests.ops import kernel_cases
from tests.ops.kernel_cases import CASES, MODE, Case, drawn_cases, import_all

import_all(kernel_cases)


def _is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def _run(function: Any, case: Case, mode: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The outputs of a function on a case, and the gradients with respect to its float arguments."""
    constants = {name: x for name, x in case.arguments.items() if name in case.constants}
    variables = {name: x for name, x in case.arguments.items() if name not in case.constants}
    flat = keras.tree.flatten(variables)
    floats = [x for x in flat if _is_float(x)]
    assert all(x.dtype == np.float64 for x in floats)

    def run(*tensors: Any) -> Any:
        remaining = iter(tensors)
        # Not `map_structure`, which visits a dict in another order than `flatten` on PyTorch.
        given = [next(remaining) if _is_float(x) else _as_tensor(x) for x in flat]
        found = function(
            **keras.tree.pack_sequence_as(variables, given), **keras.tree.map_structure(_as_tensor, constants)
        )
        return [y for y in keras.tree.flatten(found) if y is not None]

    with dtype_policy("float64"):
        return gradients(run, *floats, mode=mode) if case.differentiable else (outputs(run, *floats, mode=mode), [])


def _as_tensor(x: Any) -> Any:
    return ops.convert_to_tensor(x, "int32" if x.dtype.kind == "i" else None) if isinstance(x, np.ndarray) else x


def _assert_equal(case: Case, found: Any, expected: Any) -> None:
    assert any(np.any(y) for y in expected[0]), "the case shows nothing: all outputs are 0"
    for name, one, other in zip(("value", "gradient"), found, expected, strict=True):
        for index, (x, y) in enumerate(zip(one, other, strict=True)):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=case.atol, err_msg=f"{name} {index}")


def _parameters() -> Iterator[Any]:
    """Every kernel with each of its cases; the short run has the first of them on the backends that compile."""
    seen = set()
    for key, case in drawn_cases():
        marks = [pytest.mark.short_run("torch")] if key in seen else []
        seen.add(key)
        yield pytest.param(key, case, id=f"{key.rpartition('.')[2]}-{case.name}", marks=marks)


@pytest.mark.parametrize(("key", "case"), _parameters())
def test_kernel_is_its_equation(key, case):
    equation, kernel = PAIRS[key]
    with reference_mode():
        expected = _run(equation, case, MODE)
    with reference_mode(False):
        for mode in case.modes:
            _assert_equal(case, _run(kernel, case, mode), expected)


def test_every_kernel_has_cases():
    assert sorted(PAIRS) == sorted(CASES)


def test_a_wrong_sign_is_detected():
    """In the values, or in the gradients alone."""
    case = Case("case", {"x": np.array([1.0, -2.0]), "y": [np.array([0.5, 3.0])], "flag": np.array([True, False])})

    def right(x, y, flag):
        return ops.where(flag, x, y[0])

    def wrong(x, y, flag):
        return ops.where(flag, -x, y[0])

    def wrong_gradient(x, y, flag):
        return ops.where(flag, x, y[0]) + y[0] - ops.stop_gradient(y[0])

    expected = _run(right, case, MODE)
    _assert_equal(case, _run(right, case, MODE), expected)
    for function, name in ((wrong, "value 0"), (wrong_gradient, "gradient 1")):
        with pytest.raises(AssertionError, match=name):
            _assert_equal(case, _run(function, case, MODE), expected)
