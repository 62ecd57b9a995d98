from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm import layers
from keras_slstm.ops.backend import numpy_initializers
from tests.backend import BACKEND, to_numpy
from tests.processes import run_python

# Prints how many functions JAX compiles to load a model.
LOADING = """
import sys, jax, keras, keras_slstm
model = keras_slstm.SentenceClassifier(["a", "b"], encoder="slstm", units=11, embedding_dim=13, mlp_units=[7])
model.adapt(["x y", "x z"] * 3)
model.save(sys.argv[1])
jax.clear_caches()
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None
)
keras.saving.load_model(sys.argv[1])
print(len(compiled))
"""


def _kernels(**kwargs):
    """Return two weights with the same shape and initialiser."""
    layer = layers.SLSTM(2, **kwargs)
    layer.build((None, None, 3))
    return to_numpy(layer.node_kernel), to_numpy(layer.node_recurrent_kernel)


def test_weights_of_equal_shape_start_with_different_values():
    """Keras' initialisers alone would make both equal."""
    for initializer in ("orthogonal", keras.initializers.RandomNormal()):
        one, other = _kernels(recurrent_initializer=initializer)
        assert np.max(np.abs(one - other)) > 1e-3


def test_weights_in_a_text_model_start_with_different_values():
    model = keras_slstm.SentenceClassifier(["a", "b"], units=2, embedding_dim=3)
    model.adapt(["x y", "x z"] * 3)
    layer = next(layer for layer in model._flatten_layers() if isinstance(layer, layers.SLSTM))
    assert np.max(np.abs(to_numpy(layer.node_kernel) - to_numpy(layer.node_recurrent_kernel))) > 1e-3


def _twos(shape, dtype=None):
    return 2 * keras.ops.ones(shape, dtype=dtype)


@pytest.mark.parametrize("initializer", [keras.initializers.Ones(), keras.initializers.RandomNormal(seed=1), _twos])
def test_other_initialisers_are_used_unchanged(initializer):
    expected = to_numpy(initializer((2, 6)))
    for found in _kernels(recurrent_initializer=initializer):
        np.testing.assert_array_equal(found, expected)


class _Scaled(keras.initializers.Initializer):
    """Has no config, and an argument without a default value."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, shape, dtype=None, **kwargs):
        return self.scale * keras.ops.ones(shape, dtype=dtype)


class _ScaledNormal(keras.initializers.RandomNormal):
    """Its config lacks its own argument."""

    def __init__(self, scale):
        super().__init__(stddev=1.0)
        self.scale = scale

    def __call__(self, shape, dtype=None):
        return self.scale * super().__call__(shape, dtype=dtype)


@pytest.mark.parametrize("kind", [layers.SLSTM, layers.CASLSTM, layers.CRF])
def test_an_initialiser_without_a_config_keeps_its_arguments(kind):
    layer = kind(2, kernel_initializer=_Scaled(0.25))
    layer.build((None, None, 3))
    (kernel,) = (weight for weight in layer.weights if weight.name in ("kernel", "kernel_1"))
    np.testing.assert_array_equal(to_numpy(kernel.value), np.full(kernel.shape, 0.25))


def test_an_initialiser_with_arguments_that_its_config_lacks_draws_anew():
    one, other = _kernels(recurrent_initializer=_ScaledNormal(1000.0))
    assert np.max(np.abs(one - other)) > 1
    assert 100 < np.std(one) < 10_000


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_of_half_precision_are_drawn_in_float32(dtype):
    layer = layers.SLSTM(2, recurrent_initializer=keras.initializers.Orthogonal(seed=0), dtype=dtype)
    layer.build((None, None, 3))
    assert layer.recurrent_kernel.dtype == dtype
    expected = to_numpy(keras.initializers.Orthogonal(seed=0)(tuple(layer.recurrent_kernel.shape)))
    np.testing.assert_allclose(to_numpy(layer.recurrent_kernel).astype("float32"), expected, rtol=0.01, atol=0.01)


@pytest.mark.backends("jax")
@pytest.mark.skipif(BACKEND != "jax", reason="other backends compile no initialisers")
class TestInitialValuesOnJAX:
    def test_weights_are_drawn_without_compiling(self):
        import jax

        compiled = []
        jax.monitoring.register_event_duration_secs_listener(
            lambda event, *_, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None
        )
        try:
            jax.jit(lambda x: x + 1)(np.ones(17))
            assert compiled  # the event has this name
            compiled.clear()
            layers.SLSTM(13).build((None, None, 11))
            assert len(compiled) <= 1  # the state of the seed generator
        finally:
            jax.monitoring.clear_event_listeners()

    def test_layers_of_keras_get_their_initialisers_back(self):
        orthogonal = keras.initializers.Orthogonal(seed=1)
        lstm = keras.layers.LSTM(3, kernel_initializer="he_normal", recurrent_initializer=orthogonal)
        layer = keras.layers.Bidirectional(lstm)
        cell = layer.forward_layer.cell
        before, seeded = cell.kernel_initializer, cell.recurrent_initializer
        with numpy_initializers.drawing_without_compiling(layer):
            assert cell.kernel_initializer is not before
            assert cell.recurrent_initializer is seeded  # a seed asks for Keras' own numbers
        assert cell.kernel_initializer is before

    def test_attention_of_keras_builds(self):
        attention = keras.layers.MultiHeadAttention(2, 4)
        with numpy_initializers.drawing_without_compiling(attention):
            attention.build((None, None, 8), (None, None, 8))
        assert [tuple(weight.shape) for weight in attention.weights if "kernel" in weight.path].count((8, 2, 4)) == 3

    @pytest.mark.backends("jax")
    def test_loading_a_model_compiles_no_initialiser(self, tmp_path):
        found = run_python(
            "-c", LOADING, tmp_path / "model.keras"
        )  # here, Keras' own layers draw without compiling, too
        assert found.returncode == 0, found.stderr
        assert 0 <= int(found.stdout) <= 1  # the state of the seed generator

    @pytest.mark.parametrize(
        ("name", "std", "largest"),
        [
            ("glorot_uniform", (2 / 500) ** 0.5, (6 / 500) ** 0.5),
            ("he_normal", (2 / 300) ** 0.5, 2 * (2 / 300) ** 0.5 / 0.8796),
            ("random_uniform", 0.05 / 3**0.5, 0.05),
            ("random_normal", 0.05, 0.3),
            ("truncated_normal", 0.05 * 0.8796, 0.1),
            ("zeros", 0, 0),
        ],
    )
    def test_the_distribution_is_that_of_keras(self, name, std, largest):
        drawn = to_numpy(numpy_initializers.draw(keras.initializers.get(name), (300, 200)))
        assert abs(drawn.mean()) <= 0.02 * std
        np.testing.assert_allclose(drawn.std(), std, rtol=0.02)
        assert np.abs(drawn).max() <= largest

    def test_orthogonal_kernels(self):
        for shape in ((6, 4), (4, 6)):
            q = to_numpy(numpy_initializers.draw(keras.initializers.Orthogonal(gain=2.0), shape))
            q = q if shape == (6, 4) else q.T
            np.testing.assert_allclose(q.T @ q, 4 * np.eye(4), atol=1e-5)

    def test_a_seed_gives_the_same_weights(self):
        def kernel():
            keras.utils.set_random_seed(3)
            return _kernels()[0]

        np.testing.assert_array_equal(kernel(), kernel())


@pytest.mark.parametrize("nodes", [0, 1, 2])
@pytest.mark.parametrize("window", [0, 1, 3])
def test_an_untrained_slstm_reads_the_context_about_as_much_as_the_words(window, nodes):
    """With the orthogonal matrices of Keras, the neighbours would add less than a tenth of what a word adds."""
    keras.utils.set_random_seed(0)
    x = keras.random.normal((4, 15, 24), stddev=0.5)
    layer = layers.SLSTM(24, steps=6, window=window, sentence_nodes=nodes, return_sequences=True)
    h = to_numpy(layer(x))
    padded = np.pad(h, ((0, 0), (window, window), (0, 0)))
    neighbours = np.concatenate([padded[:, offset : offset + 15] for offset in range(2 * window + 1)], axis=-1)
    from_context = neighbours @ to_numpy(layer.recurrent_kernel)
    from_word = to_numpy(x) @ to_numpy(layer.kernel)
    assert 0.5 < np.std(from_context) / np.std(from_word) < 4


def test_a_given_recurrent_initialiser_is_not_scaled():
    kernel = _kernels(recurrent_initializer="orthogonal")[0]
    default = _kernels()[0]
    np.testing.assert_allclose(kernel @ kernel.T, np.eye(2), atol=1e-5)
    np.testing.assert_allclose(default @ default.T, 10**2 * np.eye(2), rtol=1e-5, atol=1e-3)
