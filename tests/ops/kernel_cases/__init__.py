"""The cases on which every kernel is compared with its equation.

A module of this package draws the cases of one family of kernels:

    @cases_of(kernels.gated_mean.gated_mean)
    def gated_mean(rng: np.random.Generator) -> Iterator[Case]:
        yield Case("two gates", {"pre_activations": [...], "values": [...]})
"""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_slstm.ops import kernels
from tests.__main__ import BACKENDS
from tests.backend import MODES

# TensorFlow's graph for any size, JAX compiled, PyTorch eager.
MODE = "graph" if "graph" in MODES else MODES[-1]


@dataclass(frozen=True)
class Case:
    """One call of an equation and of its kernel.

    Attributes:
        name: Shown by pytest.
        arguments: By the names of the parameters. NumPy arrays, nested in tuples, lists, named tuples or dicts, become
            tensors; float arrays must be float64, and the gradient is compared with respect to each of them.
            Everything else is passed on as it is.
        constants: Names of arguments, such as dropout masks, that no gradient is compared for.
        modes: The modes of `tests.backend` in which the kernel runs; the equation always runs in `MODE`.
        differentiable: Whether there are gradients to compare.
        atol: The largest difference allowed.
    """

    name: str
    arguments: Mapping[str, Any]
    constants: tuple[str, ...] = ()
    modes: tuple[str, ...] = (MODE,)
    differentiable: bool = True
    atol: float = 1e-10


Cases = Callable[[np.random.Generator], Iterator[Case]]
# By the key of the kernel in `keras_slstm.ops.reference.PAIRS`.
CASES: dict[str, Cases] = {}


def cases_of(*of_kernels: Callable[..., Any]) -> Callable[[Cases], Cases]:
    """Register a function that draws the cases of a kernel, or of several with the same parameters."""

    def register(draw: Cases) -> Cases:
        for kernel in of_kernels:
            CASES[f"{kernel.__module__}.{kernel.__qualname__}"] = draw
        return draw

    return register


def drawn_cases() -> Iterator[tuple[str, Case]]:
    """Every kernel with each of its cases, the same ones in every run."""
    for key, draw in sorted(CASES.items()):
        for case in draw(np.random.default_rng(zlib.crc32(key.encode()))):
            yield key, case


def random_mask(rng: np.random.Generator, batch: int, time: int) -> np.ndarray:
    """`(batch, time)` bool with holes; the first row is full, the second one empty, the third one padded left."""
    mask = rng.random((batch, time)) < 0.7
    for row, values in enumerate((True, False, np.arange(time) >= time // 2)[:batch]):
        mask[row] = values
    return mask


def import_all(package: Any) -> None:
    """Import all modules of a package, so that they register their contents, except those of missing backends."""
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name not in BACKENDS:
                raise


import_all(kernels)
