"""The check that `torch.compile` changes nothing and compiles a layer in its first call only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from tests.backend import BACKEND, to_numpy
from tests.layer_case import BATCH, TIME, LayerCase, assert_close, sentences


def check_torch_compile(case: LayerCase) -> None:
    """`torch.compile` changes no output or gradient, and compiles nothing in later calls with the same shapes."""
    if BACKEND != "torch":
        pytest.skip("only PyTorch has torch.compile")
    import torch

    compilations = 0

    def count(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        nonlocal compilations
        compilations += 1
        return module.forward

    layer, mask = case.built(), np.ones((BATCH, TIME), bool)
    mask[0, 4:] = False
    mask = ops.convert_to_tensor(mask)

    def call(x: Any) -> Any:
        return layer(x, mask=mask, **case.call_kwargs)

    def results(call: Callable[[Any], Any], seed: int) -> list[np.ndarray]:
        x = torch.tensor(sentences(seed=seed), requires_grad=True)
        outputs = keras.tree.flatten(call(x))
        layer._clear_losses()
        differentiable = [(y**2).sum() for y in outputs if y.requires_grad]
        gradient = torch.autograd.grad(sum(differentiable), x, allow_unused=True)[0] if differentiable else None
        return [to_numpy(y) for y in (*outputs, gradient) if y is not None]

    torch.compiler.reset()
    compiled = torch.compile(call, backend=count)
    counts = []
    for seed in range(3):
        expected = results(call, seed)  # before the compiled call: the first call changes attributes of the layer
        assert_close(results(compiled, seed), expected)
        counts.append(compilations)
    assert counts == [counts[0]] * 3, f"compilations after each call: {counts}"
    assert counts[0] > 0
