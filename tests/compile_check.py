"""The check that `torch.compile` compiles a layer once."""

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
    """`torch.compile` changes no output, and compiles once for all calls with arguments of the same shape."""
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

    torch.compiler.reset()
    compiled, expected_count = torch.compile(call, backend=count), None
    for seed in range(3):
        x = ops.convert_to_tensor(sentences(seed=seed))
        expected = [to_numpy(y) for y in keras.tree.flatten(call(x))]  # the first call changes the layer's attributes
        layer._clear_losses()
        found = [to_numpy(y) for y in keras.tree.flatten(compiled(x))]
        layer._clear_losses()
        assert_close(found, expected)
        assert compilations == (expected_count or compilations), f"call {seed} compiled something anew"
        expected_count = compilations
