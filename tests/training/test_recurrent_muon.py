"""`RecurrentMuon` against Muon and Adam written out, and on real layers."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.training import RecurrentMuon
from tests.training.test_recurrent_adam import RECURRENT, adam, batch


def orthogonal(matrix: np.ndarray) -> np.ndarray:
    """Muon's polynomial of odd degree, applied to the singular values: it brings them to between 0.7 and 1.2."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    values = values / np.linalg.norm(matrix)
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return (left * values) @ right


def muon(value: np.ndarray, gradients: list[np.ndarray], rate: float) -> np.ndarray:
    """Muon with Nesterov's momentum for each 3x3 matrix, and the updates' scale of Liu et al., section 2.2."""
    value, momentum = value.copy(), np.zeros_like(value)
    for gradient in gradients:
        momentum = 0.95 * momentum + gradient
        for i in range(0, value.shape[0], 3):
            for j in range(0, value.shape[1], 3):
                part = np.s_[i : i + 3, j : j + 3]
                value[part] -= rate * np.sqrt(3) * orthogonal(gradient[part] + 0.95 * momentum[part])
    return value


def test_muon_updates_marked_variables_only() -> None:
    rng = np.random.default_rng(0)
    starts = rng.normal(size=(2, 6, 9)).astype("float32")
    gradients = rng.normal(size=(4, 2, 6, 9)).astype("float32")
    plain, marked = (keras.Variable(start) for start in starts)
    marked.state_units = 3
    optimizer = RecurrentMuon(0.01, rms_rate=2.0)
    optimizer.build([plain, marked])
    for pair in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient) for gradient in pair])
    for variable, start, column, expect, rate in (
        (plain, starts[0], 0, adam, 0.01),
        (marked, starts[1], 1, muon, 0.02),
    ):
        expected = expect(start.astype("float64"), list(gradients[:, column].astype("float64")), rate)
        np.testing.assert_allclose(keras.ops.convert_to_numpy(variable), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: keras_slstm.SLSTM(6, steps=4, window=2, sentence_nodes=2),
        lambda: keras_slstm.DepthAdaptiveGRN(6, max_depth=4),
        lambda: keras.layers.LSTM(6),
    ],
    ids=["slstm", "grn", "lstm"],
)
def test_other_weights_of_the_layers_change_as_with_adam(layer) -> None:
    changes = []
    for optimizer in (keras.optimizers.Adam(0.001), RecurrentMuon(0.001)):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((5, 3)), layer()])
        before = [keras.ops.convert_to_numpy(weight) for weight in model.trainable_weights]
        model.compile(optimizer, "mse", jit_compile=False)
        model.fit(*batch(), epochs=1, verbose=0)
        after = [keras.ops.convert_to_numpy(weight) for weight in model.trainable_weights]
        changes.append([new - old for new, old in zip(after, before, strict=True)])
    for weight, plain, other in zip(model.trainable_weights, *changes, strict=True):
        if "lstm_cell" not in weight.path and weight.name in RECURRENT:
            assert 0.0005 < np.sqrt(np.mean(other**2)) < 0.002, weight.path
            assert not np.allclose(other, plain, rtol=1e-2, atol=1e-5)
        else:
            np.testing.assert_allclose(other, plain, rtol=1e-3, atol=1e-6)


def test_a_saved_model_goes_on_as_the_model_itself(tmp_path) -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((5, 3)), keras_slstm.SLSTM(6, steps=2)])
    optimizer = RecurrentMuon(0.01, rms_rate=0.5, weight_decay=0.1, global_clipnorm=1.0)
    model.compile(optimizer, "mse", jit_compile=False)
    model.fit(*batch(), epochs=2, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for name in ("rms_rate", "weight_decay", "adam_weight_decay", "global_clipnorm"):
        assert getattr(loaded.optimizer, name) == getattr(optimizer, name)
    for one in (model, loaded):
        one.fit(*batch(1), epochs=2, verbose=0)
    for weight, other in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(weight), keras.ops.convert_to_numpy(other), rtol=1e-4, atol=1e-5
        )


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a strategy of TensorFlow")
def test_replicas_take_the_same_steps() -> None:
    import tensorflow as tf

    trained = []
    for strategy in (tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])):
        with strategy.scope():
            keras.utils.set_random_seed(0)
            model = keras.Sequential([keras.Input((5, 3)), keras_slstm.SLSTM(6, steps=2)])
            model.compile(RecurrentMuon(0.01), "mse", jit_compile=False)
        model.fit(*batch(), batch_size=4, epochs=3, verbose=0)
        trained.append([keras.ops.convert_to_numpy(weight) for weight in model.weights])
    for one, other in zip(*trained, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
