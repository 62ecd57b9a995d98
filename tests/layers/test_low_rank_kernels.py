"""Layers with LoRA equal layers with the kernel W + alpha / rank A B, and train only A and B."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_slstm
from tests.layers.test_quantized_kernels import KERNELS, MASK, X, model_of, parts

NAMES = ["SLSTM", "CASLSTM", "Bidirectional(CASLSTM)", "SuBiLSTM", "DepthAdaptiveGRN", "CRF"]


def adapted(name, **options):
    """Return a model with random A and B, and its layers with kernels."""
    model = model_of(name)
    layers = [model.layers[-1]]
    if isinstance(layers[0], keras.layers.Bidirectional):
        layers = [layers[0].forward_layer, layers[0].backward_layer]
    for layer in layers:
        layer.enable_lora(2, **options)
        assert layer.lora_enabled
        assert layer.lora_rank == 2
    random = np.random.default_rng(2)
    for weight in low_rank(model):
        weight.assign(random.normal(scale=0.5, size=weight.shape))
    return model


def low_rank(model):
    return [weight for weight in model.weights if "_lora_" in weight.name]


def values(model):
    return {weight.path: ops.convert_to_numpy(weight) for weight in model.weights}


def predicted(model):
    return ops.convert_to_numpy(model([X, MASK]))


@pytest.mark.short_run
@pytest.mark.parametrize("name", NAMES)
def test_sum_of_kernel_and_product(name, tmp_path):
    model = adapted(name, lora_alpha=3)
    found, weights = predicted(model), values(model)
    assert len(low_rank(model)) == 2 * KERNELS[name]
    assert {weight.name for weight in model.trainable_variables} == {weight.name for weight in low_rank(model)}

    same = model_of(name)
    before = predicted(same)
    for part, other in zip(parts(model), parts(same), strict=True):
        added = {weight.name: ops.convert_to_numpy(weight) for weight in part.weights}
        for weight in other.weights:
            if f"{weight.name}_lora_a" in added:
                a, b = added[f"{weight.name}_lora_a"], added[f"{weight.name}_lora_b"]
                weight.assign(added[weight.name] + 3 / 2 * np.einsum("ir,rj->ij", a, b))
    np.testing.assert_allclose(found, predicted(same), atol=1e-5)
    assert np.abs(found - before).max() > 1e-3

    for _ in range(2):
        model.save(tmp_path / "model.keras")
        model = keras.saving.load_model(tmp_path / "model.keras")
        assert len(model.weights) == len(same.weights) < len(weights)
        np.testing.assert_allclose(predicted(model), found, atol=1e-5)


def test_weights_load_into_an_adapted_layer(tmp_path):
    model = adapted("SLSTM")
    found = predicted(model)
    model.save_weights(tmp_path / "a.weights.h5")
    other = model_of("SLSTM")
    other.layers[-1].enable_lora(3)
    other.load_weights(tmp_path / "a.weights.h5")
    np.testing.assert_allclose(predicted(other), found, atol=1e-5)


@pytest.mark.short_run
def test_only_the_new_matrices_learn():
    model = model_of("SLSTM")
    start = predicted(model)
    model.layers[-1].enable_lora(2)
    np.testing.assert_array_equal(predicted(model), start)  # B is 0
    model.compile(keras.optimizers.Adam(0.03), "mse", jit_compile=False)
    before, targets = values(model), np.tile([0.5, -0.5], (3, 3)).astype("float32")
    losses = model.fit([X, MASK], targets, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 2
    for path, value in values(model).items():
        # Cells start at 0, so g is 0 when the second and last step reads it through this kernel.
        learns = "_lora_" in path and "node_recurrent" not in path
        assert np.any(value != before[path]) == learns, path


def test_refusals():
    layer = keras_slstm.SLSTM(3)
    with pytest.raises(ValueError, match="not built yet"):
        layer.enable_lora(2)
    layer.build((None, None, 4))
    layer.enable_lora(2)
    with pytest.raises(ValueError, match="already enabled for"):
        layer.enable_lora(2)
    with pytest.raises(ValueError, match="save and load the model first"):
        layer.quantize("int8")
    quantised = parts(model_of("SLSTM"))[0]
    quantised.quantize("int8")
    with pytest.raises(ValueError, match="is quantised"):
        quantised.enable_lora(2)
    constrained = keras_slstm.SLSTM(3, kernel_constraint="max_norm")
    constrained.build((None, None, 4))
    with pytest.raises(ValueError, match="has a constraint"):
        constrained.enable_lora(2)
    assert not constrained.lora_enabled
    pooling = keras_slstm.layers.AttentionPooling(3)
    pooling.build((None, None, 4))
    with pytest.raises(NotImplementedError, match="no kernels"):
        pooling.enable_lora(2)
