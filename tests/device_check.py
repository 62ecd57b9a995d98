"""The check that a layer makes its tensors on Keras' device, as a GPU needs, in a way that no GPU is needed for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.backend import BACKEND
from tests.layer_case import BATCH, TIME, LayerCase, sentences


def check_device(case: LayerCase) -> None:
    """No tensor is made on PyTorch's default device, which is the CPU even where Keras uses a GPU.

    Numbers may: PyTorch combines them with tensors of any device. What is made without a device is put on the device
    "meta" here, which cannot be combined with the tensors of the layer.
    """
    if BACKEND != "torch":
        pytest.skip("the other backends have one default device")
    from torch.overrides import TorchFunctionMode
    from torch.utils._device import _device_constructors

    makers = _device_constructors()

    class Elsewhere(TorchFunctionMode):
        def __torch_function__(
            self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            made = function(*args, **(kwargs or {}))
            if function in makers and not (kwargs or {}).get("device") and made.ndim:
                return made.to("meta")
            return made

    layer = case.built()
    mask = np.ones((BATCH, TIME), bool)
    mask[0, 4:] = False
    options = {"training": True} if case.stochastic else {}
    with Elsewhere():
        for given in (None, mask):
            try:
                case.run(layer, sentences(), given, **options)
            except RuntimeError as error:
                raise AssertionError("a tensor is not on Keras' device") from error
