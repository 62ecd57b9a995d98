"""`RecurrentAdam` against Adam written out, and on real layers."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.training import RecurrentAdam

RECURRENT = ["recurrent_kernel", "sentence_kernel", "sentence_gate_kernel", "node_kernel", "node_recurrent_kernel"]


def adam(value: np.ndarray, gradients: list[np.ndarray], rate: float) -> np.ndarray:
    """Adam's paper, algorithm 1, with epsilon where Keras has it."""
    mean = square = np.zeros_like(value)
    for t, g in enumerate(gradients, start=1):
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        corrected = rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        value = value - corrected * mean / (np.sqrt(square) + 1e-7)
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
    "layer",
    [
        lambda: keras_slstm.SLSTM(6, steps=2, window=2, sentence_nodes=2),
        lambda: keras_slstm.DepthAdaptiveGRN(6, max_depth=2),
        lambda: keras.layers.LSTM(6),
    ],
    ids=["slstm", "grn", "lstm"],
)
def test_the_recurrent_kernels_of_the_layers_are_marked(layer) -> None:
    changes = []
    for optimizer in (keras.optimizers.Adam(0.001), RecurrentAdam(0.001, recurrent_multiplier=4.0)):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((5, 3)), layer()])
        before = [keras.ops.convert_to_numpy(weight) for weight in model.trainable_weights]
        model.compile(optimizer, "mse", jit_compile=False)
        model.fit(*batch(), epochs=1, verbose=0)
        after = [keras.ops.convert_to_numpy(weight) for weight in model.trainable_weights]
        changes.append([new - old for new, old in zip(after, before, strict=True)])
    found = set()
    for weight, plain, other in zip(model.trainable_weights, *changes, strict=True):
        is_marked = "lstm_cell" not in weight.path and weight.name in RECURRENT
        np.testing.assert_allclose(other, (4 if is_marked else 1) * plain, rtol=1e-3, atol=1e-6)
        assert is_marked or not hasattr(weight, "state_units")
        found |= {weight.name} if is_marked else set()
    assert found == (set() if isinstance(model.layers[-1], keras.layers.LSTM) else set(RECURRENT))


def test_a_saved_model_goes_on_as_the_model_itself(tmp_path) -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((5, 3)), keras_slstm.SLSTM(6, steps=2)])
    model.compile(RecurrentAdam(0.01, recurrent_multiplier=5.0, global_clipnorm=1.0), "mse", jit_compile=False)
    model.fit(*batch(), epochs=2, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.recurrent_multiplier == 5.0
    assert loaded.optimizer.global_clipnorm == 1.0
    for one in (model, loaded):
        one.fit(*batch(1), epochs=2, verbose=0)
    for weight, other in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(weight), keras.ops.convert_to_numpy(other), rtol=1e-5, atol=1e-6
        )


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a strategy of TensorFlow")
def test_replicas_take_the_same_steps() -> None:
    import tensorflow as tf

    trained = []
    for strategy in (tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])):
        with strategy.scope():
            keras.utils.set_random_seed(0)
            model = keras.Sequential([keras.Input((5, 3)), keras_slstm.SLSTM(6, steps=2)])
            model.compile(RecurrentAdam(0.01), "mse", jit_compile=False)
        model.fit(*batch(), batch_size=4, epochs=3, verbose=0)
        trained.append([keras.ops.convert_to_numpy(weight) for weight in model.weights])
    for one, other in zip(*trained, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("multiplier", [0, -1.0, float("nan"), float("inf")])
def test_a_multiplier_that_is_not_positive_is_refused(multiplier) -> None:
    with pytest.raises(ValueError, match="must be a positive number"):
        RecurrentAdam(recurrent_multiplier=multiplier)
