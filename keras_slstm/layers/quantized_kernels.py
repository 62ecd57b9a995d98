"""Mixin for layers whose kernels can be stored as integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_slstm.layers.low_rank_kernels import LowRankKernels
from keras_slstm.types import Tensor

# The largest integer of each mode.
MODES = {"int8": 127, "int4": 7}


class QuantizedBuildConfig(LowRankKernels):
    """Mixin for layers whose build config records which parts are quantised, so that saved files restore them."""

    def quantizable_parts(self) -> list[Any]:
        """The layers with kernels, this one or inside it, in an order that depends only on its arguments."""
        return [self]

    def get_build_config(self) -> dict[str, Any] | None:
        config: dict[str, Any] | None = super().get_build_config()  # type: ignore[misc]
        modes = [getattr(part, "quantized_as", None) for part in self.quantizable_parts()]
        return {**config, "quantized_as": modes} if config and any(modes) else config

    def build_from_config(self, config: Mapping[str, Any]) -> None:
        sizes = dict(config)
        modes = sizes.pop("quantized_as", [])
        super().build_from_config(sizes)  # type: ignore[misc]
        for part, mode in zip(self.quantizable_parts(), modes):
            if mode and not part.quantized_as:
                part.quantize(mode)


class QuantizedKernels(QuantizedBuildConfig):
    """Mixin that adds `quantize`, as in Keras' dense layers.

    A kernel becomes integers Q, `(rows, columns)` int8, and a scale s per column, so that it is approximately Q s. In
    the mode `"int4"`, one byte stores the integers of two columns. A call computes Q s once and continues as before:
    files and weights get smaller, but calls do not get faster. The kernels are no longer trained; all other weights
    are.

    A layer class sets `has_quantized_kernels` if it reads its kernels with `kernel_value`.
    """

    has_quantized_kernels = False
    quantized_as: str | None = None
    _kernel_names: Any = ()
    _kernel_scales: Any = None

    def register_kernel(self, name: str) -> None:
        """Register the weight of that name as a kernel."""
        self._kernel_names = (*self._kernel_names, name)

    @property
    def can_quantize(self) -> bool:
        """Whether there are kernels that `quantize` can replace."""
        return self.has_quantized_kernels and bool(self._kernel_names)

    def quantize(self, mode: str | None = None, type_check: bool = True, config: Any = None) -> None:
        """Replace the kernels by integers and column scales.

        Args:
            mode: `"int8"` or `"int4"`.
            type_check: Ignored; Keras passes it.
            config: A Keras configuration. Only its mode is used; its quantisers are for dense layers.

        Raises:
            NotImplementedError: If the layer or the mode is not supported.
            ValueError: If LoRA is enabled.
        """
        if mode not in MODES or not self.can_quantize:
            raise NotImplementedError(f"{type(self).__name__} cannot be quantised with mode={mode!r}.")
        if self.lora_enabled:
            raise ValueError(
                f"{type(self).__name__} has LoRA enabled. To merge A B into the kernels, save and load the model first."
            )
        layer: Any = self
        scales, replaced = {}, {}
        for kernel in [*layer._trainable_variables, *layer._non_trainable_variables]:
            if kernel.name in self._kernel_names:
                integers, scale = to_integers(ops.convert_to_numpy(ops.cast(kernel, "float32")), mode)
                layer._untrack_variable(kernel)
                replaced[id(kernel)] = self._add(kernel.name, integers, "int8")
                scales[kernel.name] = self._add(f"{kernel.name}_scale", scale, kernel.dtype)
        for name, value in list(vars(self).items()):
            if name.startswith("_"):
                continue
            if id(value) in replaced:
                setattr(self, name, replaced[id(value)])
            elif isinstance(value, list) and any(id(each) in replaced for each in value):
                setattr(self, name, [replaced.get(id(each), each) for each in value])
        self._kernel_scales, self.quantized_as, layer._is_quantized = scales, mode, True
        if hasattr(layer, "_track_variables"):  # a PyTorch module registers the parameters a second time
            layer._track_variables()

    def _add(self, name: str, values: np.ndarray, dtype: str) -> Any:
        options = {"initializer": "zeros", "trainable": False, "dtype": dtype}
        weight = self.add_weight(name=name, shape=values.shape, **options)  # type: ignore[attr-defined]
        weight.assign(values)
        return weight

    def kernel_value(self, kernel: Any) -> Tensor:
        """Return a kernel, or another weight, as a tensor; inside `call`, in the compute dtype."""
        value = ops.convert_to_tensor(kernel)
        if not self.quantized_as or kernel.name not in self._kernel_scales:
            return self.with_low_rank(kernel, value)
        scale, integers = ops.convert_to_tensor(self._kernel_scales[kernel.name]), value
        if self.quantized_as == "int4":
            integers = keras.quantizers.unpack_int4(integers, scale.shape[0], axis=-1)
        return ops.cast(integers, scale.dtype) * scale


def to_integers(kernel: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Quantise each column; its largest absolute value becomes the largest integer.

    Args:
        kernel: `(rows, columns)` float32.
        mode: One of `MODES`.

    Returns:
        The integers, int8 (in the mode `"int4"`, two columns are packed into one), and the scales, `(columns,)`.
    """
    largest = np.abs(kernel).max(axis=0)
    scale = np.where(largest > 0, largest, 1) / np.float32(MODES[mode])
    integers = np.round(kernel / scale).astype("int8")
    if mode == "int4":
        integers = ops.convert_to_numpy(keras.quantizers.pack_int4(integers, axis=-1)[0])
    return integers, scale.astype("float32")
