"""`LayerCase`: one layer, with one set of arguments, for the checks of `tests/layer_checks.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
from keras import ops

from tests.backend import Evaluation, dtype_policy, evaluate, to_numpy

# Few shapes, because JAX compiles every eager operation once per shape and reuses it in later checks.
BATCH, TIME, FEATURES = 3, 6, 4
SHORT = 4
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@dataclass(frozen=True, eq=False)
class LayerCase:
    """One layer with one set of arguments, and what the checks need to know about it.

    Attributes:
        name: Shown by pytest.
        make: Returns a new layer; its input is `(batch, time, FEATURES)` and a mask.
        outputs: For each output "sequence" (`(batch, time, ...)`) or "vector" (`(batch, ...)`).
        interior: The effect of a masked word inside a sentence: "join" (as if it were absent) or "cut".
        empty_row: The output of a row that is only padding: "zero", or anything "finite".
        stochastic: Whether the layer has dropout.
        call_kwargs: Further arguments of the call.
        variant: A further variant of a layer with a main case in the table. It skips the checks that are slow on this
            backend and hardly depend on a layer's options (`SLOW_CHECKS`).
        wrapped: Inside a layer of Keras, or not a public layer. The short run has such cases, and variants, only on
            PyTorch.
        exempt: Reasons for not applying a check, by its name.
    """

    name: str
    make: Callable[[], keras.Layer]
    outputs: tuple[str, ...] = ("vector",)
    interior: str = "join"
    empty_row: str = "zero"
    stochastic: bool = False
    call_kwargs: Mapping[str, Any] = field(default_factory=dict)
    variant: bool = False
    wrapped: bool = False
    exempt: Mapping[str, str] = field(default_factory=dict)

    def built(self, policy: str = "float32") -> keras.Layer:
        """Return a layer with weights that are neither zero nor symmetric, and equal in every call."""
        with dtype_policy(policy):
            layer = self.make()
            build(layer)
            randomize(layer)
        return layer

    def run(self, layer: keras.Layer, x: np.ndarray, mask: np.ndarray | None = None, **options: Any) -> Evaluation:
        return evaluate(layer, x, mask, **self.call_kwargs, **options)

    def output_mask(self, layer: keras.Layer, x: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the mask of the output sequences, reversed if the layer reads backwards."""
        found = layer.compute_mask(ops.convert_to_tensor(x), ops.convert_to_tensor(mask))
        found = found[0] if isinstance(found, list | tuple) else found
        return mask if found is None else to_numpy(found)

    def unmasked(
        self, layer: keras.Layer, x: np.ndarray, mask: np.ndarray, found: list[np.ndarray]
    ) -> list[np.ndarray]:
        """Return the outputs without masked positions: `(number of real words, ...)` for a sequence."""
        return [
            y[self.output_mask(layer, x, mask)] if kind == "sequence" else y
            for kind, y in zip(self.outputs, found, strict=True)
        ]


def build(layer: keras.Layer) -> None:
    if not layer.built:
        layer.build((None, None, FEATURES))


def randomize(layer: keras.Layer) -> None:
    """Overwrite all trainable weights with fixed values of moderate size."""
    rng = np.random.default_rng(1)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape) * 0.5)


def sentences(batch: int = BATCH, time: int = TIME, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(batch, time, FEATURES)).astype("float32")


def assert_close(found: Any, expected: Any, **tolerance: Any) -> None:
    """Compare arrays, or lists or dicts of them."""
    if isinstance(expected, Mapping):  # gradients by path: equal layers may have different names
        found, expected = list(found.values()), list(expected.values())
    for one, other in zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, **{**CLOSE, **tolerance})


@keras.saving.register_keras_serializable(package="tests")
class Spelled(keras.layers.Layer):
    """Turns a layer that reads characters into one that reads words, whose features are split into two characters."""

    def __init__(self, layer: keras.layers.Layer, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layer = layer
        self.supports_masking = True

    def build(self, input_shape: tuple) -> None:
        if not self.layer.built:
            self.layer.build((*input_shape[:2], 2, input_shape[2] // 2))
        self.built = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        batch, time, features = ops.shape(inputs)
        if mask is not None:
            mask = ops.repeat(ops.convert_to_tensor(mask)[..., None], 2, axis=-1)
        return self.layer(ops.reshape(inputs, (batch, time, 2, features // 2)), mask=mask)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return self.layer.compute_output_shape((*input_shape[:2], 2, input_shape[2] // 2))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Spelled:
        return cls(**{**config, "layer": keras.saving.deserialize_keras_object(config["layer"])})
