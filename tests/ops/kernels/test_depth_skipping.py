"""Words that have stopped are skipped. `tests/ops/test_kernels.py` compares values and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.kernels import depth_layers, depth_skipping
from keras_slstm.ops.reference import reference_mode
from keras_slstm.ops.slstm import SLSTMWeights
from tests.backend import BACKEND, dtype_policy, gradients
from tests.ops.kernel_cases import MODE
from tests.ops.kernel_cases.slstm import D, E, random_weights

BATCH, TIME, L = 6, 7, 5
RNG = np.random.default_rng(0)
DEPTHS = RNG.integers(0, L + 1, size=(BATCH, TIME))
ARRAYS = RNG.normal(size=(BATCH, TIME, E)), RNG.normal(size=(BATCH, TIME, D)), *random_weights(RNG, 1, 1)


def _run(x, h0, *weights):
    depths = ops.convert_to_tensor(DEPTHS, dtype="int32")
    return depth_skipping.depth_adaptive_grn(SLSTMWeights(*weights), x, depths > 0, h0, depths, L)


@pytest.mark.skipif(BACKEND == "jax", reason="compiled for all depths")
def test_words_that_have_stopped_are_not_computed(monkeypatch):
    """The transition computes only the rows of words that have not stopped."""
    rows = []
    original = depth_layers.word_update

    def counting(a, *cells):
        rows.append(a.shape[0])
        return original(a, *cells)

    monkeypatch.setattr(depth_layers, "word_update", counting)
    with reference_mode(False), dtype_policy("float64"):
        _run(*map(ops.convert_to_tensor, ARRAYS))
    assert rows == [int(np.sum(layer <= DEPTHS)) for layer in range(1, L + 1)]


@pytest.mark.backends("jax")
def test_many_sizes_give_the_same_result(monkeypatch):
    """As many branches as a large batch has."""
    from keras_slstm.ops.kernels import depth_skipping_jax

    original = depth_skipping_jax.prefix_sizes
    with dtype_policy("float64"), reference_mode():
        expected = gradients(_run, *ARRAYS, mode=MODE)
    monkeypatch.setattr(depth_skipping_jax, "prefix_sizes", lambda words: original(words, parts=2, least=1))
    with dtype_policy("float64"), reference_mode(False):
        found = gradients(_run, *ARRAYS, mode=MODE)
    for one, other in zip((*found[0], *found[1]), (*expected[0], *expected[1]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.backends("tensorflow")
def test_all_branches_of_xla_on_tensorflow_give_the_same_result(monkeypatch):
    """The real bound gives so few words a single branch."""
    import tensorflow as tf

    from keras_slstm.ops.kernels import depth_skipping_xla

    arguments = [tf.constant(array, "float64") for array in ARRAYS]
    with dtype_policy("float64"), reference_mode():
        expected = _run(*arguments)
    monkeypatch.setattr(depth_skipping_xla, "LEAST", 1)
    with dtype_policy("float64"), reference_mode(False):
        found = tf.function(_run, jit_compile=True)(*arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.backends("jax")
@pytest.mark.parametrize("words", [1, 63, 64, 65, 1000, 4096, 100_000])
def test_sizes_rise_to_the_number_of_words(words):
    from keras_slstm.ops.kernels.depth_skipping_jax import prefix_sizes

    sizes = prefix_sizes(words)
    assert sizes[0] == 0
    assert sizes[-1] == words
    assert sizes == sorted(set(sizes))
    assert len(sizes) <= 7


@pytest.mark.backends("jax")
def test_the_gradient_on_jax_computes_no_product_again():
    """Unless it is asked to: then once more in each branch with words, while the branch without words has none."""
    import jax

    from keras_slstm.ops.kernels.depth_skipping_jax import prefix_sizes

    depths = np.ones((8, 20), "int32")
    x, h0 = np.ones((8, 20, E), "float32"), np.ones((8, 20, D), "float32")
    weights = SLSTMWeights(*random_weights(RNG, 1, 1))

    def products(rematerialize):
        def loss(weights):
            run = depth_skipping.depth_adaptive_grn
            return ops.sum(run(weights, x, None, h0, depths, L, rematerialize=rematerialize)[0])

        return str(jax.make_jaxpr(jax.grad(loss))(weights)).count("dot_general")

    with reference_mode(False):
        with_words = len(prefix_sizes(depths.size)) - 1
        assert products(True) - products(False) == with_words


@pytest.mark.backends("tensorflow")
@pytest.mark.parametrize("training", [False, True])
def test_xla_on_tensorflow_skips_in_inference(training):
    import tensorflow as tf

    def run(x, h0, depths):
        weights = SLSTMWeights(*map(ops.convert_to_tensor, random_weights(RNG, 1, 1)))
        return depth_skipping.depth_adaptive_grn(weights, x, None, h0, depths, L, training=training)

    x, h0 = (tf.ones((BATCH, TIME, size), "float64") for size in (E, D))
    with dtype_policy("float64"), reference_mode(False):
        program = tf.function(run, jit_compile=True).experimental_get_compiler_ir(x, h0, tf.constant(DEPTHS, "int32"))
    assert (" conditional(" in program(stage="hlo")) == (not training)
