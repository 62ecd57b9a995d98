"""A part of a computation with memory of its own."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

import keras_slstm
from keras_slstm.ops.backend.apart import run_apart
from tests.backend import gradients


@pytest.mark.parametrize("x", [[1.0, 2.0], [np.nan, 2.0], []], ids=str)
def test_the_result_is_that_of_the_function(x):
    x = np.array(x, "float32")

    def function(x, more):
        return {"cos": ops.cos(x) + more[0]}

    found = run_apart(function, ops.convert_to_tensor(x), [ops.ones((1,))])["cos"]
    np.testing.assert_allclose(ops.convert_to_numpy(found), np.cos(x) + 1, rtol=1e-6)


def test_the_gradient_is_that_of_the_function():
    x = np.array([0.5, 1.0])
    (found,), (expected,) = (
        gradients(run, x)[1] for run in (lambda x: [run_apart(ops.sin, x)], lambda x: [ops.sin(x)])
    )
    assert expected.any()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.backends("jax")
@pytest.mark.parametrize("tied", [True, False])
def test_recomputation_saves_the_memory_of_the_blocks(tied):
    import jax

    def megabytes(rematerialize):
        layer = keras_slstm.SuBiLSTM(16, tied=tied, rematerialize=rematerialize)
        x = np.ones((1, 200, 16), "float32")
        layer.build(x.shape)
        weights, constants = (
            [v.value for v in of] for of in (layer.trainable_variables, layer.non_trainable_variables)
        )

        def loss(weights):
            return ops.sum(layer.stateless_call(weights, constants, x)[0])

        return jax.jit(jax.grad(loss)).lower(weights).compile().memory_analysis().temp_size_in_bytes / 1e6

    assert megabytes(True) < 0.4 * megabytes(False)
