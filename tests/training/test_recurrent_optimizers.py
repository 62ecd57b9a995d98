"""`RecurrentAdam` and `RecurrentMuon` against Adam and Muon written out, and on real layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.training import RecurrentAdam, RecurrentMuon

RECURRENT = ["recurrent_kernel", "sentence_kernel", "sentence_gate_kernel", "node_kernel", "node_recurrent_kernel"]
LAYERS = {
    "slstm": lambda: keras_slstm.SLSTM(6, steps=4, window=2, sentence_nodes=2),
    "grn": lambda: keras_slstm.DepthAdaptiveGRN(6, max_depth=4),
    "lstm": lambda: keras.layers.LSTM(6),
}
OPTIMIZERS = {
    "adam": lambda **options: RecurrentAdam(0.01, 5.0, **options),
    "muon": lambda **options: RecurrentMuon(0.01, 0.5, weight_decay=0.1, **options),
}


def adam(value: np.ndarray, gradients: list[np.ndarray], rate: float) -> np.ndarray:
    """Adam's paper, algorithm 1, with epsilon where Keras has it."""
    mean = square = np.zeros_like(value)
    for t, g in enumerate(gradients, start=1):
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        corrected = rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        value = value - corrected * mean / (np.sqrt(square) + 1e-7)
    return value


def orthogonal(matrix: np.ndarray, iterations: int) -> np.ndarray:
    """Muon's polynomial of odd degree, applied to the singular values: it brings them to between 0.7 and 1.2."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    values = values / np.linalg.norm(matrix)
    for _ in range(iterations):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return (left * values) @ right


def muon(value: np.ndarray, gradients: list[np.ndarray], rate: float, iterations: int = 3) -> np.ndarray:
    """Muon with Nesterov's momentum for each 3x3 matrix, and the updates' scale of Liu et al., section 2.2."""
    value, momentum = value.copy(), np.zeros_like(value)
    for gradient in gradients:
        momentum = 0.95 * momentum + gradient
        for i in range(0, value.shape[0], 3):
            for j in range(0, value.shape[1], 3):
                part = np.s_[i : i + 3, j : j + 3]
                value[part] -= rate * np.sqrt(3) * orthogonal(gradient[part] + 0.95 * momentum[part], iterations)
    return value


def batch(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 5, 3)).astype("float32"), rng.normal(size=(4, 6)).astype("float32")


def test_only_marked_variables_take_larger_steps() -> None:
    rng = np.random.default_rng(0)
    starts = rng.normal(size=(2, 3)).astype("float32")
    gradients = rng.normal(size=(6, 2, 3)).astype("float32")
    plain, marked = (keras.Variable(start) for start in starts)
    marked.state_units = 3
    optimizer = RecurrentAdam(0.01, recurrent_multiplier=3.0)
    optimizer.build([plain, marked])
    for pair in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient) for gradient in pair])
    for variable, start, column, rate in ((plain, starts[0], 0, 0.01), (marked, starts[1], 1, 0.03)):
        expected = adam(start.astype("float64"), list(gradients[:, column].astype("float64")), rate)
        np.testing.assert_allclose(keras.ops.convert_to_numpy(variable), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "expected_muon"),
    [({}, muon), ({"ns_steps": 5}, partial(muon, iterations=5))],
    ids=["default", "5 steps"],
)
def test_muon_updates_marked_variables_only(options: dict, expected_muon: Callable) -> None:
    rng = np.random.default_rng(0)
    starts = rng.normal(size=(2, 6, 9)).astype("float32")
    gradients = rng.normal(size=(4, 2, 6, 9)).astype("float32")
    plain, marked = (keras.Variable(start) for start in starts)
    marked.state_units = 3
    optimizer = RecurrentMuon(0.01, rms_rate=2.0, **options)
    optimizer.build([plain, marked])
    for pair in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient) for gradient in pair])
    for variable, start, column, expect, rate in (
        (plain, starts[0], 0, adam, 0.01),
        (marked, starts[1], 1, expected_muon, 0.02),
    ):
        expected = expect(start.astype("float64"), list(gradients[:, column].astype("float64")), rate)
        np.testing.assert_allclose(keras.ops.convert_to_numpy(variable), expected, rtol=1e-4, atol=1e-5)


def changes_of(layer: str, optimizer: keras.optimizers.Optimizer) -> tuple[list, list]:
    """Return the weights of a new layer, and how one update changes them."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((5, 3)), LAYERS[layer]()])
    before = [keras.ops.convert_to_numpy(weight) for weight in model.trainable_weights]
    model.compile(optimizer, "mse", jit_compile=False)
    model.fit(*batch(), epochs=1, verbose=0)
    after = [keras.ops.convert_to_numpy(weight) for weight in model.trainable_weights]
    return model.trainable_weights, [new - old for new, old in zip(after, before, strict=True)]


@pytest.mark.parametrize("layer", LAYERS)
def test_only_the_recurrent_kernels_of_our_layers_change_differently(layer) -> None:
    weights, plain = changes_of(layer, keras.optimizers.Adam(0.001))
    larger = changes_of(layer, keras.optimizers.Adam(0.004))[1]
    with_adam = changes_of(layer, RecurrentAdam(0.001, recurrent_multiplier=4.0))[1]
    with_muon = changes_of(layer, RecurrentMuon(0.001))[1]
    found = set()
    for weight, change, large, adam_change, muon_change in zip(
        weights, plain, larger, with_adam, with_muon, strict=True
    ):
        if "lstm_cell" not in weight.path and weight.name in RECURRENT:
            found.add(weight.name)
            np.testing.assert_allclose(adam_change, large, rtol=1e-3, atol=1e-6)
            assert 0.0005 < np.sqrt(np.mean(muon_change**2)) < 0.002, weight.path
            assert not np.allclose(muon_change, change, rtol=1e-2, atol=1e-5)
        else:
            assert not hasattr(weight, "state_units")
            for other in (adam_change, muon_change):
                np.testing.assert_allclose(other, change, rtol=1e-3, atol=1e-6)
    assert found == (set() if layer == "lstm" else set(RECURRENT))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_saved_model_goes_on_as_the_model_itself(tmp_path, name) -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((5, 3)), keras_slstm.SLSTM(6, steps=2)])
    optimizer = OPTIMIZERS[name](global_clipnorm=1.0)
    model.compile(optimizer, "mse", jit_compile=False)
    model.fit(*batch(), epochs=2, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for argument in ("global_clipnorm", "recurrent_multiplier", "rms_rate", "weight_decay", "adam_weight_decay"):
        assert getattr(loaded.optimizer, argument, None) == getattr(optimizer, argument, None)
    for one in (model, loaded):
        one.fit(*batch(1), epochs=2, verbose=0)
    for weight, other in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(weight), keras.ops.convert_to_numpy(other), rtol=1e-5, atol=1e-6
        )


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a strategy of TensorFlow")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_replicas_take_the_same_steps(name) -> None:
    import tensorflow as tf

    trained = []
    for strategy in (tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])):
        with strategy.scope():
            keras.utils.set_random_seed(0)
            model = keras.Sequential([keras.Input((5, 3)), keras_slstm.SLSTM(6, steps=2)])
            model.compile(OPTIMIZERS[name](), "mse", jit_compile=False)
        model.fit(*batch(), batch_size=4, epochs=3, verbose=0)
        trained.append([keras.ops.convert_to_numpy(weight) for weight in model.weights])
    for one, other in zip(*trained, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("multiplier", [0, -1.0, float("nan"), float("inf")])
def test_a_multiplier_that_is_not_positive_is_refused(multiplier) -> None:
    with pytest.raises(ValueError, match="must be a positive number"):
        RecurrentAdam(recurrent_multiplier=multiplier)
