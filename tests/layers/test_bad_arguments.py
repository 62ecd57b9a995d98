"""Every public layer rejects invalid arguments, with a message that names the argument and the value."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

import keras
import pytest

from keras_slstm import layers

pytestmark = pytest.mark.short_run("torch")

PUBLIC = [
    layer_class
    for layer_class in (getattr(layers, name) for name in layers.__all__)
    if isinstance(layer_class, type) and issubclass(layer_class, keras.Layer)
]
# The arguments that a layer requires besides the one under test.
NEEDED: dict[str, dict[str, Any]] = {"AttentionDecoder": {"cell": keras.layers.LSTMCell(2)}, "CRF": {"units": 3}}
RNN_FLAGS = ("return_sequences", "return_state", "go_backwards", "stateful")
# Integer arguments with a minimum other than 1.
LEAST = {"window": 0, "sentence_nodes": 0}
NOT_CHECKED = {"seed", "lam", "max_context", "labels"}  # take other types, too; the layers' own tests check them


def _wrong_values(layer_class: type, name: str, default: Any, annotation: str) -> list[Any]:
    if name.endswith("dropout"):
        return [-0.1, 1, math.nan, "a", True]
    if isinstance(default, bool):
        return ["no", None, 1]
    if annotation.startswith("int"):
        return [LEAST.get(name, 1) - 1, 2.5, "3", True]
    if isinstance(default, str) and not name.endswith(("initializer", "regularizer", "constraint")):
        return ["wrong", 3, ["wrong"]]
    return []


def _cases() -> Iterator[Any]:
    for layer_class in PUBLIC:
        parameters = [
            (p.name, p.default, str(p.annotation))
            for p in inspect.signature(layer_class).parameters.values()
            if p.kind is not p.VAR_KEYWORD and p.name not in NOT_CHECKED
        ]
        if issubclass(layer_class, keras.layers.RNN):
            named = {name for name, *_ in parameters}
            parameters += [(flag, False, "bool") for flag in RNN_FLAGS if flag not in named]
        for name, default, annotation in parameters:
            if values := _wrong_values(layer_class, name, default, annotation):
                yield pytest.param(layer_class, name, values, id=f"{layer_class.__name__}-{name}")


@pytest.mark.parametrize(("layer_class", "name", "values"), _cases())
def test_wrong_values_are_named(layer_class, name, values):
    signature = inspect.signature(layer_class).parameters.values()
    required = {p.name: 4 for p in signature if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD}
    for value in values:
        with pytest.raises(ValueError, match=rf"`{name}` ") as error:
            layer_class(**{**required, **NEEDED.get(layer_class.__name__, {}), name: value})
        assert repr(value) in str(error.value)


@pytest.mark.parametrize("layer_class", [c for c in PUBLIC if issubclass(c, keras.layers.RNN)])
def test_outputs_at_masked_positions_are_always_zero(layer_class):
    with pytest.raises(ValueError, match="`zero_output_for_mask` must be True, but got False"):
        layer_class(4, zero_output_for_mask=False)


@pytest.mark.parametrize("layer_class", [layers.SLSTM, layers.DepthAdaptiveGRN, layers.SuBiLSTM])
def test_bidirectional_layers_refuse_go_backwards(layer_class):
    with pytest.raises(ValueError, match=r"already reads in both directions.* without `keras.layers.Bidirectional`"):
        keras.layers.Bidirectional(layer_class(4))
