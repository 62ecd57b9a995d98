"""Layers with integer kernels equal layers with the rounded kernels in floats."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_slstm
from keras_slstm.layers.quantized_kernels import to_integers

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

X = np.random.default_rng(0).normal(size=(3, 5, 4)).astype("float32")
MASK = np.array([[1, 1, 1, 1, 1], [0, 1, 1, 1, 0], [1, 0, 0, 0, 0]], bool)

LAYERS = {
    "SLSTM": lambda: keras_slstm.SLSTM(6, steps=2, initial="projection"),
    "CASLSTM": lambda: keras_slstm.CASLSTM(5, return_sequences=True),
    "Bidirectional(CASLSTM)": lambda: keras.layers.Bidirectional(keras_slstm.CASLSTM(3, return_sequences=True)),
    "SuBiLSTM": lambda: keras_slstm.SuBiLSTM(3, combine="gate"),
    "DepthAdaptiveGRN": lambda: keras_slstm.DepthAdaptiveGRN(6, max_depth=3, return_sequences=True),
    "DepthAdaptiveGRN(sequential=None)": lambda: keras_slstm.DepthAdaptiveGRN(
        6, max_depth=2, sequential=None, selection="full"
    ),
    "CRF": lambda: keras_slstm.CRF(3, pairwise=True),
}
KERNELS = {
    "SLSTM": 7,
    "CASLSTM": 4,
    "Bidirectional(CASLSTM)": 8,
    "SuBiLSTM": 6,
    "DepthAdaptiveGRN": 12,
    "DepthAdaptiveGRN(sequential=None)": 8,
    "CRF": 2,
}


def model_of(name):
    inputs, mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    model = keras.Model([inputs, mask], LAYERS[name]()(inputs, mask=mask))
    random = np.random.default_rng(1)
    for weight in model.weights:
        if "float" in weight.dtype:
            weight.assign(random.normal(scale=0.5, size=weight.shape))
    return model


def parts(model):
    """Return the layers with kernels."""
    return [layer for layer in model._flatten_layers() if getattr(layer, "can_quantize", False)]


def rounded(kernel, mode):
    """Return the kernel that the integers represent: the nearest multiples of a scale per column."""
    largest = {"int8": 127, "int4": 7}[mode]
    result = np.zeros_like(kernel)
    for column in range(kernel.shape[1]):
        step = max(abs(value) for value in kernel[:, column]) / largest
        for row in range(kernel.shape[0]):
            result[row, column] = round(float(kernel[row, column] / step)) * step
    return result


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.parametrize("name", LAYERS)
def test_kernels_are_rounded_and_load(name, mode, tmp_path):
    model = model_of(name)
    exact = ops.convert_to_numpy(model([X, MASK]))
    weights = [(weight.path, ops.convert_to_numpy(weight)) for weight in model.weights]
    for part in parts(model):
        part.quantize(mode)
    integers = [weight.path for weight in model.weights if weight.dtype == "int8"]
    assert len(integers) == KERNELS[name]
    found = ops.convert_to_numpy(model([X, MASK]))

    same = model_of(name)
    for weight, (path, values) in zip(same.weights, weights, strict=True):
        weight.assign(rounded(values, mode) if path in integers else values)
    np.testing.assert_allclose(found, ops.convert_to_numpy(same([X, MASK])), atol=1e-5)
    assert np.abs(found - exact).max() > 1e-4

    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert [weight.dtype for weight in loaded.weights] == [weight.dtype for weight in model.weights]
    np.testing.assert_allclose(ops.convert_to_numpy(loaded([X, MASK])), found, atol=1e-6)
    loaded.save(tmp_path / "again.keras")
    again = keras.saving.load_model(tmp_path / "again.keras")
    np.testing.assert_allclose(ops.convert_to_numpy(again([X, MASK])), found, atol=1e-6)


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_quantised_layer_trains_its_float_weights(mode):
    model = model_of("SLSTM")
    (layer,) = parts(model)
    layer.quantize(mode)
    before = {weight.path: ops.convert_to_numpy(weight) for weight in model.weights}
    model.compile("sgd", "mse", jit_compile=False)
    model.fit([X, MASK], np.ones((3, 6), "float32"), verbose=0)
    for weight in model.weights:
        changed = np.any(ops.convert_to_numpy(weight) != before[weight.path])
        assert changed == weight.trainable or "initial" in weight.path or "boundary" in weight.path, weight.path


def test_keras_quantises_a_model_of_these_layers():
    model = model_of("CASLSTM")
    model.quantize("int8")
    assert sum(weight.dtype == "int8" for weight in model.weights) == 4
    assert model.predict([X, MASK], verbose=0).shape == (3, 5, 5)


def test_keras_quantises_a_grn_but_for_its_own_kernels(tmp_path):
    """As the docstring of the layer says."""
    model = keras.Sequential([keras.Input((None, 4)), LAYERS["DepthAdaptiveGRN"]()])
    exact = model.predict(X, verbose=0)
    model.quantize("int8")
    assert sum(weight.dtype == "int8" for weight in model.weights) == 4  # the BiLSTM
    model.layers[0].quantize("int8")
    assert sum(weight.dtype == "int8" for weight in model.weights) == KERNELS["DepthAdaptiveGRN"]
    found = model.predict(X, verbose=0)
    assert 0 < np.abs(found - exact).max() < 0.1
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(X, verbose=0), found, atol=1e-6)


def test_constant_columns():
    kernel = np.array([[0.0, 2.0, -1.0], [0.0, 2.0, 0.5]], "float32")
    integers, scale = to_integers(kernel, "int8")
    np.testing.assert_array_equal(integers, [[0, 127, -127], [0, 127, 64]])
    np.testing.assert_allclose(integers * scale, kernel, atol=1 / 254)


@pytest.mark.parametrize(("name", "mode"), [("SLSTM", "float8"), ("AttentionPooling", "int8")])
def test_unsupported_quantisation_is_refused(name, mode):
    layer = getattr(keras_slstm.layers, name)(3)
    layer.build((None, None, 4))
    with pytest.raises(NotImplementedError, match=f"mode='{mode}'"):
        layer.quantize(mode)
