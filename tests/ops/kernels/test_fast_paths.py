"""No layer silently falls back to its equation or to computing every word, which would be slow."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

import keras_slstm
from keras_slstm.ops.kernels import depth_layers
from keras_slstm.ops.reference import PAIRS, reference_mode
from tests.backend import gradients

pytestmark = pytest.mark.short_run("torch")

X = np.random.default_rng(0).normal(size=(2, 6, 4)).astype("float32")
MASK = np.array([[1] * 6, [1, 1, 1, 1, 0, 0]], bool)
LABELS = np.array([[0, 1, 2, 2, 1, 0], [2, 0, 1, 1, -1, -1]], "int32")
LAYERS = {
    "SLSTM": lambda: keras_slstm.SLSTM(3, steps=3, return_sequences=True),
    "CASLSTM": lambda: keras_slstm.CASLSTM(3, num_layers=2, return_sequences=True),
    "SuBiLSTM": lambda: keras_slstm.SuBiLSTM(3),
    "DepthAdaptiveGRN": lambda: keras_slstm.DepthAdaptiveGRN(3, max_depth=3, return_sequences=True),
}


@pytest.fixture
def equations_that_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every equation that has a kernel raises, under whatever name it has been imported."""

    def refuse(*args, **kwargs):
        raise AssertionError("an equation runs where its kernel should")

    for pair in PAIRS.values():
        if not pair.equation.__code__.co_freevars:
            monkeypatch.setattr(pair.equation, "__code__", refuse.__code__)
            monkeypatch.setattr(pair.equation, "__defaults__", None)


def _train(layer):
    layer.build(X.shape)
    return gradients(lambda x: [layer(x, mask=ops.convert_to_tensor(MASK), training=True)], X)


@pytest.mark.parametrize("name", LAYERS)
def test_encoders_run_on_their_kernels(name, equations_that_raise):
    _train(LAYERS[name]())


@pytest.mark.parametrize("name", LAYERS)
def test_the_check_detects_an_equation(name, equations_that_raise):
    with reference_mode(), pytest.raises(Exception, match="an equation runs where its kernel should"):
        _train(LAYERS[name]())


def test_the_crf_runs_on_its_kernels(equations_that_raise):
    layer = keras_slstm.CRF(3)
    layer.build(X.shape)
    loss = keras_slstm.CRFLoss()
    gradients(lambda x: [loss(LABELS, layer(x, mask=ops.convert_to_tensor(MASK)))], X)
    potentials = layer(ops.convert_to_tensor(X), mask=ops.convert_to_tensor(MASK))
    keras_slstm.crf_decode(potentials)


@pytest.mark.backends("tensorflow", "torch")  # on JAX, every size has a branch of the compiled loop
def test_words_that_have_stopped_are_not_computed(monkeypatch):
    computed = []
    update = depth_layers.word_update

    def counted(a, *cells):
        computed.append(int(ops.shape(a)[0]))
        return update(a, *cells)

    monkeypatch.setattr(depth_layers, "word_update", counted)
    layer = keras_slstm.DepthAdaptiveGRN(3, max_depth=5, return_sequences=True)
    layer.build(X.shape)
    depths = np.array([[1, 1, 2, 1, 5, 1], [1, 3, 1, 1, 0, 0]], "int32")
    layer(ops.convert_to_tensor(X), mask=ops.convert_to_tensor(MASK), depths=depths)
    assert sum(computed) == depths.sum()
