from __future__ import annotations

import numpy as np
import pytest

from keras_slstm.ops.accumulate import accumulate
from tests.backend import MODES, outputs


def _step(state, at_time):
    total, last = state
    x, factor = at_time
    return total * factor + x, x + 0 * last


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("time", [0, 1, 5])
def test_it_is_the_loop(time, reverse):
    rng = np.random.default_rng(0)
    x, factor = rng.normal(size=(2, time, 3)).astype("float32")
    initial = rng.normal(size=(2, 3)).astype("float32")
    state, expected = (initial[0], initial[1]), np.zeros((time, 3), "float32")
    for t in reversed(range(time)) if reverse else range(time):
        state = _step(state, (x[t], factor[t]))
        expected[t] = state[0]

    def run(x, factor, initial):
        return accumulate(_step, (initial[0], initial[1]), (x, factor), reverse=reverse, kept=1)

    for mode in MODES:
        states, last = outputs(run, x, factor, initial, mode=mode)
        np.testing.assert_allclose(states, expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(last, state[1], rtol=1e-6, atol=1e-6)


def test_no_step_of_unknown_number_compiles():
    if "graph" not in MODES:
        pytest.skip("lengths are unknown inside tf.function only")
    import tensorflow as tf

    def run(x):
        return accumulate(lambda state, at_time: (state[0] + at_time[0],), (tf.zeros(2),), (x,))[0]

    for jit_compile in (False, True):
        compiled = tf.function(run, input_signature=[tf.TensorSpec([None, 2])], jit_compile=jit_compile)
        assert compiled(tf.ones([0, 2])).shape == (0, 2)
        np.testing.assert_array_equal(compiled(tf.ones([2, 2])), [[1, 1], [2, 2]])


def test_by_default_all_is_kept():
    x = np.arange(6, dtype="float32").reshape(3, 2)
    found = outputs(lambda x: accumulate(_step, (x[0], x[1]), (x, x)), x)
    assert [y.shape for y in found] == [(3, 2), (3, 2)]
    np.testing.assert_array_equal(found[1], x)
