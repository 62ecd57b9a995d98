"""A few random configurations of the layers on each backend; `python -m tests.fuzz` runs thousands."""

from __future__ import annotations

import keras
import pytest

import keras_slstm
from tests import fuzz
from tests.backend import BACKEND

pytestmark = pytest.mark.short_run("torch")

COUNTS = {"tensorflow": 24, "jax": 4, "torch": 90}  # JAX compiles each case
FULL_COUNTS = {"tensorflow": 48, "jax": 4, "torch": 120}


@pytest.fixture
def count(request):
    return (FULL_COUNTS if request.config.getoption("--suite") == "full" else COUNTS)[BACKEND]


@pytest.mark.parametrize("block", range(2))  # for the processes of pytest-xdist
def test_random_configurations(count, block, capsys):
    assert fuzz.run(0, range(block, count, 2)) == 0, capsys.readouterr().out


def test_a_case_depends_only_on_seed_and_number():
    cases = [str(fuzz.draw(3, number)) for number in range(200)]
    assert [str(fuzz.draw(3, number)) for number in reversed(range(200))] == cases[::-1]
    assert [str(fuzz.draw(4, number)) for number in range(200)] != cases
    assert {case.partition("(")[0] for case in cases} == {*fuzz.LAYERS}


POOLING = fuzz.Case(
    seed=1,
    number=2,
    name="MaskedGlobalAveragePooling1D",
    options={},
    policy="float32",
    batch=3,
    time=8,
    mask="holes",
    filler=50.0,
    training=False,
)


class DividesByZero(keras_slstm.MaskedGlobalAveragePooling1D):
    def call(self, inputs, mask=None):
        return super().call(inputs, mask) / (0.0 * keras.ops.sum(inputs[:, :0], axis=1))


class Leaking(keras_slstm.MaskedGlobalAveragePooling1D):
    """Right forward; the padding gets a gradient."""

    def call(self, inputs, mask=None):
        total = keras.ops.sum(inputs, axis=1)
        return super().call(inputs, mask) + total - keras.ops.stop_gradient(total)


class Misshapen(keras_slstm.MaskedGlobalAveragePooling1D):
    def compute_output_shape(self, input_shape):
        return (input_shape[0], 1)


class Narrow(keras_slstm.MaskedGlobalAveragePooling1D):
    def call(self, inputs, mask=None):
        return keras.ops.cast(super().call(inputs, mask), "float16")


class CountsPadding(keras_slstm.MaskedGlobalAveragePooling1D):
    def call(self, inputs, mask=None):
        return super().call(inputs, mask) / inputs.shape[1]


class Forgetful(keras_slstm.MaskedGlobalAveragePooling1D):
    def __init__(self, scale=None, **kwargs):
        super().__init__(**kwargs)
        self.scale = 2.0 if scale is None else 1.0

    def call(self, inputs, mask=None):
        return super().call(inputs, mask) * self.scale

    def get_config(self):
        return {**super().get_config(), "scale": 1.0}


@pytest.mark.parametrize(
    ("layer_class", "message"),
    [
        (DividesByZero, "an output is not finite"),
        (Leaking, "padding has a gradient"),
        (Misshapen, "was promised"),
        (Narrow, "an output is float16, not float32"),
        (CountsPadding, "padding changes an output"),
        (Forgetful, "the layer made from the config differs"),
    ],
)
def test_a_broken_layer_is_caught(monkeypatch, layer_class, message):
    monkeypatch.setattr(keras_slstm, "MaskedGlobalAveragePooling1D", layer_class)
    with pytest.raises(AssertionError, match=message):
        fuzz.check(POOLING)
