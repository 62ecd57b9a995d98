"""The common checks can fail: each check catches a broken layer."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm.layers import MaskedGlobalAveragePooling1D
from keras_slstm.layers.masked_inputs import masked_inputs
from keras_slstm.ops.masks import masked_mean
from tests import cross_backend
from tests.backend import BACKEND, MODES
from tests.layer_case import LayerCase
from tests.layer_checks import CHECKS

pytestmark = pytest.mark.short_run("torch")


@keras.saving.register_keras_serializable(package="broken")
class Sound(keras.layers.Layer):
    """Mean of the real words through a square kernel: the layer that the others break."""

    def __init__(self, scale=2.0, **kwargs):
        super().__init__(**kwargs)
        self.scale = scale
        self.supports_masking = True

    def build(self, input_shape):
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1],) * 2)
        self.built = True

    def call(self, inputs, mask=None):
        mean = masked_mean(*masked_inputs(self, inputs, mask))
        return ops.cast(self.scale * (mean @ ops.convert_to_tensor(self.kernel)), self.compute_dtype)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[-1])

    def get_config(self):
        return {**super().get_config(), "scale": self.scale}


class LosesArgument(Sound):
    def get_config(self):
        return super(Sound, self).get_config()


@keras.saving.register_keras_serializable(package="broken")
class RestoresAnotherValue(Sound):
    def get_config(self):
        return {**super().get_config(), "scale": 2.0}


class WrongShape(Sound):
    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[-1] + 1)


class PassesMaskOn(Sound):
    def compute_mask(self, inputs, mask=None):
        return mask


class IgnoresMask(Sound):
    def call(self, inputs, mask=None):
        return super().call(inputs)


class LeaksGradient(Sound):
    """Forward it is right."""

    def call(self, inputs, mask=None):
        total = ops.sum(inputs, axis=(1, 2))[:, None]
        return super().call(inputs, mask) + total - ops.stop_gradient(total)


class MultipliesByMask(Sound):
    """NaN times 0 is NaN, and a row without a word is 0 / 0."""

    def call(self, inputs, mask=None):
        if mask is None:
            return super().call(inputs)
        mask = ops.cast(mask, inputs.dtype)[..., None]
        return self.scale * ops.matmul(ops.sum(inputs * mask, axis=1) / ops.sum(mask, axis=1), self.kernel)


class AddsBias(Sound):
    """Returns something other than zero for an empty sentence."""

    def call(self, inputs, mask=None):
        return super().call(inputs, mask) + 1


class Float32Only(Sound):
    def call(self, inputs, mask=None):
        return ops.cast(super().call(inputs, mask), "float32")


class Imprecise(Sound):
    def call(self, inputs, mask=None):
        return super().call(inputs, mask) * (1.5 if self.compute_dtype == "bfloat16" else 1)


class StopsGradient(Sound):
    def call(self, inputs, mask=None):
        return super().call(inputs, mask) + 0 * ops.stop_gradient(ops.sum(self.kernel))

    def build(self, input_shape):
        super().build(input_shape)
        self.unused = self.add_weight(name="unused", shape=(2,))


class CountsCalls(Sound):
    """Keeps state in Python, so compiled and eager code differ."""

    calls = 0

    def call(self, inputs, mask=None):
        CountsCalls.calls += 1
        return super().call(inputs, mask) * CountsCalls.calls


class AlwaysDrops(Sound):
    def __init__(self, seed=0, **kwargs):
        super().__init__(**kwargs)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, inputs, mask=None, training=False):
        return super().call(keras.random.dropout(inputs, 0.5, seed=self.seed_generator), mask)


class NeverDrops(Sound):
    def call(self, inputs, mask=None, training=False):
        return super().call(inputs, mask)


class RoundsOnTheWay(Sound):
    """The dtype is right, but the precision is that of float32."""

    def call(self, inputs, mask=None):
        return super().call(ops.cast(ops.cast(inputs, "float32"), self.compute_dtype), mask)


class RoundsOutputs(Sound):
    def call(self, inputs, mask=None):
        return ops.cast(ops.cast(super().call(inputs, mask), "float32"), self.compute_dtype)


class LearnsNothing(Sound):
    def call(self, inputs, mask=None):
        return masked_mean(inputs, mask) + ops.stop_gradient(super().call(inputs, mask))


class TurnsGradientRound(Sound):
    def call(self, inputs, mask=None):
        outputs = super().call(inputs, mask)
        return 2 * ops.stop_gradient(outputs) - outputs


class Diverges(Sound):
    def call(self, inputs, mask=None):
        return super().call(inputs, mask) * float("nan")


class DependsOnReplica(Sound):
    def call(self, inputs, mask=None):
        import tensorflow as tf

        context = tf.distribute.get_replica_context()  # None where the model is built
        replica = 0 if context is None else ops.cast(context.replica_id_in_sync_group, inputs.dtype)
        return super().call(inputs, mask) * (1 + replica)


@keras.saving.register_keras_serializable(package="broken")
class LosesState(Sound):
    """A weight that is not in the file."""

    def build(self, input_shape):
        super().build(input_shape)
        self.hidden = np.random.default_rng().normal()

    def call(self, inputs, mask=None):
        return super().call(inputs, mask) * self.hidden


class StaysOnTheCPU(Sound):
    def call(self, inputs, mask=None):
        import torch

        return super().call(inputs, mask) + torch.zeros(inputs.shape[-1])


class KnowsOneShape(Sound):
    def call(self, inputs, mask=None):
        return super().call(inputs, mask) * (1 if isinstance(inputs.shape[1], int) else 2)


def _case(layer_class, **options):
    return LayerCase(layer_class.__name__, layer_class, **options)


@pytest.mark.parametrize("name", CHECKS)
def test_a_sound_layer_passes(name):
    CHECKS[name](LayerCase("sound", lambda: Sound(3.0)))


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("config", _case(LosesArgument)),
        ("config", LayerCase("another value", lambda: RestoresAnotherValue(3.0))),
        ("shapes", _case(WrongShape)),
        ("shapes", _case(PassesMaskOn)),
        ("padding", _case(IgnoresMask)),
        ("padding", _case(LeaksGradient)),
        ("nan_padding", _case(MultipliesByMask)),
        ("interior_mask", _case(IgnoresMask)),
        ("interior_mask", _case(MaskedGlobalAveragePooling1D, interior="cut")),
        ("empty_row", _case(MultipliesByMask)),
        ("empty_row", _case(AddsBias)),
        ("precision", _case(Float32Only)),
        ("precision", _case(Imprecise)),
        ("float64", _case(RoundsOnTheWay)),
        ("float64", _case(RoundsOutputs)),
        ("gradients", _case(StopsGradient)),
        ("rematerialisation", _case(CountsCalls)),
        ("dropout", _case(AlwaysDrops)),
        ("dropout", _case(AlwaysDrops, stochastic=True)),
        ("dropout", _case(NeverDrops, stochastic=True)),
        ("gradients", _case(LearnsNothing)),
        ("training", _case(Diverges)),
        ("training", _case(TurnsGradientRound)),
        ("two_replicas", _case(DependsOnReplica)),
        ("export", _case(KnowsOneShape)),
        ("saving", _case(LosesState)),
        pytest.param(
            "device", _case(StaysOnTheCPU), marks=pytest.mark.skipif(BACKEND != "torch", reason="only PyTorch's")
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_broken_layer_is_caught(name, case):
    with pytest.raises(AssertionError):
        CHECKS[name](case)


@pytest.mark.parametrize(("layer_class", "sound"), [(Sound, True), (LosesState, False)])
def test_a_layer_that_loads_differently_is_caught(layer_class, sound, tmp_path):
    """Run the program of the other backends on this one."""
    cross_backend.write(tmp_path, [LayerCase("case", layer_class)])
    assert (cross_backend._problem(tmp_path / "case.keras") is None) is sound


@pytest.mark.skipif("graph" not in MODES, reason="only TensorFlow runs with unknown shapes")
@pytest.mark.parametrize("layer_class", [CountsCalls, KnowsOneShape])
def test_a_layer_that_changes_when_compiled_is_caught(layer_class):
    with pytest.raises(AssertionError):
        CHECKS["gradients"](_case(layer_class))
