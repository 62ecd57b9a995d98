"""Mixin for Keras' usual weight arguments (`kernel_initializer`, ...)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import keras

from keras_slstm.configs import ConfigFromArguments, serialize_argument
from keras_slstm.layers.padded_inputs import PaddedInputs
from keras_slstm.layers.quantized_kernels import QuantizedKernels
from keras_slstm.ops.backend.numpy_initializers import draws_without_compiling
from keras_slstm.types import Shape

_KINDS = {
    "initializer": keras.initializers,
    "regularizer": keras.regularizers,
    "constraint": keras.constraints,
}

_OF_KERNELS = ("kernel", "recurrent")


class WeightArguments(QuantizedKernels, PaddedInputs, ConfigFromArguments):
    """Mixin for layers with arguments named `<weight>_initializer`, `<weight>_regularizer` and `<weight>_constraint`.

    The constructor passes its `locals()` to `set_weight_arguments`; `build` creates weights with `add_weight_like`.
    """

    # A layer that reads in both directions rejects `keras.layers.Bidirectional`.
    reads_both_ways = False

    def set_weight_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Resolve the weight arguments among these (names, configs, objects) and store them as attributes."""
        self._weight_argument_names = tuple(name for name in arguments if _kind(name) is not None)
        for name in self._weight_argument_names:
            setattr(self, name, _kind(name).get(arguments[name]))

    def add_weight_like(
        self,
        like: str,
        name: str,
        shape: Shape,
        initializer: Any = None,
        trainable: bool = True,
        quantized: bool = True,
        gains: Any = None,
    ) -> Any:
        """Create the weight `name` with the initialiser, regulariser and constraint named `<like>_...`.

        `initializer`, if given, replaces `<like>_initializer`. `quantize` replaces matrices like `kernel` and
        `recurrent`, unless `quantized` is False. The initial values are multiplied by `gains`, if given.
        """
        if like in _OF_KERNELS and len(shape) == 2 and quantized:
            self.register_kernel(name)
        options = {kind: getattr(self, f"{like}_{kind}", None) for kind in _KINDS}
        options["initializer"] = _with_own_seed(initializer or options["initializer"])
        if gains is not None:
            options["initializer"] = _multiplied(options["initializer"], gains)
        if self.variable_dtype in ("float16", "bfloat16"):  # type: ignore[attr-defined]
            options["initializer"] = _drawn_in_float32(options["initializer"])
        return self.add_weight(name=name, shape=shape, trainable=trainable, **options)  # type: ignore[attr-defined]

    def weight_config(self) -> dict[str, Any]:
        """The arguments given to `set_weight_arguments`, serialised."""
        return {name: serialize_argument(getattr(self, name)) for name in self._weight_argument_names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        if cls.reads_both_ways and "go_backwards" in config:
            raise ValueError(
                f"{cls.__name__} already reads in both directions. Use it without `keras.layers.Bidirectional`."
            )
        return super().from_config(config)


def _kind(name: str) -> Any:
    """Return Keras' module for a weight argument, such as `kernel_initializer`; None for other names."""
    return _KINDS.get(name.rpartition("_")[2])


def _with_own_seed(initializer: Any) -> Any:
    """Copy an initialiser without a seed: Keras' own would give all weights of one shape the same numbers."""
    if not isinstance(initializer, keras.initializers.Initializer):
        return initializer
    config = initializer.get_config()
    if config.get("seed") is not None:
        return initializer
    if "seed" in config:  # others, which may have no config, are used unchanged
        initializer = copy.copy(initializer)  # not from the config: a subclass may have arguments that it lacks
        initializer.seed = keras.initializers.RandomNormal().seed  # a new one in each call
    return draws_without_compiling(initializer)


def _multiplied(initializer: Any, gains: Any) -> Any:
    initializer = keras.initializers.get(initializer)

    def draw(shape: Shape, dtype: Any = None) -> Any:
        values = initializer(shape, dtype=dtype)
        return values * keras.ops.cast(gains, values.dtype)

    return draw


def _drawn_in_float32(initializer: Any) -> Any:
    """Draw in float32 and cast, because not every backend has QR decompositions in half precision."""
    initializer = keras.initializers.get(initializer)
    if not callable(initializer):
        return initializer
    return lambda shape, dtype=None: keras.ops.cast(initializer(shape, dtype="float32"), dtype)
