from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.backend.scan import scan
from tests.backend import MODES, gradients, outputs


def _step(state, now):
    total, last = state
    x, factor = now
    return total * factor + x, x + 0 * last


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("time", [0, 1, 5])
def test_equals_a_loop(time, reverse):
    rng = np.random.default_rng(0)
    x, factor = rng.normal(size=(2, time, 3)).astype("float32")
    initial = rng.normal(size=(2, 3)).astype("float32")
    state, expected = (initial[0], initial[1]), np.zeros((time, 3), "float32")
    for t in reversed(range(time)) if reverse else range(time):
        state = _step(state, (x[t], factor[t]))
        expected[t] = state[0]

    def run(x, factor, initial):
        return scan(_step, (initial[0], initial[1]), (x, factor), reverse=reverse, num_stacked=1)

    for mode in MODES:
        states, last = outputs(run, x, factor, initial, mode=mode)
        np.testing.assert_allclose(states, expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(last, state[1], rtol=1e-6, atol=1e-6)


def test_an_unknown_number_of_steps_compiles_even_if_it_is_zero():
    if "graph" not in MODES:
        pytest.skip("lengths are unknown inside tf.function only")
    import tensorflow as tf

    def run(x):
        return scan(lambda state, now: (state[0] + now[0],), (tf.zeros(2),), (x,))[0]

    for jit_compile in (False, True):
        compiled = tf.function(run, input_signature=[tf.TensorSpec([None, 2])], jit_compile=jit_compile)
        assert compiled(tf.ones([0, 2])).shape == (0, 2)
        np.testing.assert_array_equal(compiled(tf.ones([2, 2])), [[1, 1], [2, 2]])


def test_all_tensors_of_the_state_are_stacked_by_default():
    x = np.arange(6, dtype="float32").reshape(3, 2)
    found = outputs(lambda x: scan(_step, (x[0], x[1]), (x, x)), x)
    assert [y.shape for y in found] == [(3, 2), (3, 2)]
    np.testing.assert_array_equal(found[1], x)


@pytest.mark.parametrize("mode", MODES)
def test_gradient_equals_that_of_an_unrolled_loop(mode):
    x = np.random.default_rng(1).normal(size=(4, 1, 3)).astype("float32")

    def run(x):
        return scan(lambda state, now: (ops.tanh(state[0] + now[0]),), (ops.zeros_like(x[0]),), (x,))[0]

    def unrolled(x):
        states = [ops.zeros_like(x[0])]
        for t in range(4):
            states.append(ops.tanh(states[-1] + x[t]))
        return ops.stack(states[1:])

    found, (d_found,) = gradients(run, x, mode=mode)
    expected, (d_expected,) = gradients(unrolled, x)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(d_found, d_expected, rtol=1e-5, atol=1e-6)
