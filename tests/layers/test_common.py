"""Applies the common checks to every public layer; a new layer needs an entry in `tests/layers/cases.py`."""

from __future__ import annotations

import json

import keras
import pytest

from keras_slstm import layers
from tests import cross_backend, layer_checks
from tests.backend import other_backends
from tests.layer_case import LayerCase
from tests.layers.cases import CASES

# Eager PyTorch runs the checks of all variants in minutes; the other backends compile each of them.
_REPETITION = [pytest.mark.ci_run("torch")]
_SLOW_TO_COMPILE = ("empty", "export", "gradients", "precision", "rematerialisation", "training", "two_replicas")


def _marks(name: str, case: LayerCase) -> list[pytest.MarkDecorator]:
    if case.variant or case.wrapped:
        return _REPETITION
    if name == "torch_compile":
        return [] if case.name == "slstm" else [pytest.mark.ci_run("torch")]
    # One layer is enough to show in minutes that the check itself works on this backend.
    return [pytest.mark.short_run("torch")] if name in _SLOW_TO_COMPILE and case.name != "slstm" else []


_PAIRS = [
    pytest.param(name, case, id=f"{case.name}-{name}", marks=_marks(name, case))
    for case in CASES
    for name in layer_checks.CHECKS
    if not (case.variant and name in layer_checks.SLOW_CHECKS)
]


@pytest.mark.parametrize(("name", "case"), _PAIRS)
def test_layer(name, case):
    layer_checks.apply(name, case)


def test_every_public_layer_has_a_case():
    public = {
        f"keras_slstm>{name}"
        for name in layers.__all__
        if isinstance(getattr(layers, name), type) and issubclass(getattr(layers, name), keras.Layer)
    }
    used = json.dumps([keras.saving.serialize_keras_object(case.make()) for case in CASES])
    assert [name for name in sorted(public) if f'"{name}"' not in used] == []


def test_every_public_layer_has_a_thorough_case():
    """Every layer has a case that is not just a variant."""
    thorough = {type(layer) for case in CASES if not case.variant for layer in [case.make()]}
    # Run inside, or after, the layers of their cases.
    inside = {
        layers.NormalizedLSTMCell,
        layers.MinGRUCell,
        layers.CASLSTMCell,
        layers.CRFDecoder,
        layers.CharCNN,
        layers.CharBiLSTM,
    }
    inside |= {layers.AttentionDecoder}  # it has two inputs
    public = {getattr(layers, name) for name in layers.__all__}
    assert public - thorough - inside == set()


@pytest.fixture(scope="module")
def problems_elsewhere(tmp_path_factory):
    """The failures of other backends with the weights of this one, by backend and case."""
    folder = tmp_path_factory.mktemp("exchange")
    cross_backend.write(folder, CASES)
    return {backend: cross_backend.problems(folder, backend) for backend in other_backends()}


@pytest.mark.ci_run("torch")
@pytest.mark.xdist_group("exchange")  # so that the other backends start once
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.short_run
def test_weights_load_on_other_backends(case, problems_elsewhere):
    if not problems_elsewhere:
        pytest.skip("no other backend is installed")
    for backend, problems in problems_elsewhere.items():
        assert case.name not in problems, f"on {backend}: {problems[case.name]}"
