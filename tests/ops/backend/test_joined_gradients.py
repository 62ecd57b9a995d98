from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.backend.joined_gradients import JoinedKernel, join_gradients, multiply
from tests.backend import BACKEND, MODES, gradients

RANDOM = np.random.default_rng(0)
X, H, KERNEL, OTHER = (RANDOM.normal(size=shape).astype("float32") for shape in ((2, 3), (2, 4, 3), (3, 3), (3, 3)))
COUNT = np.array([[1], [2]], "int32")
SEEN: list[type] = []


def _loop(kernels, arguments):
    kernel, other, _ = kernels
    SEEN.append(type(kernel))
    (x, h), nothing, count, factor = arguments
    assert nothing is None
    for _ in range(3):
        h = ops.tanh(multiply(h, kernel) + ops.expand_dims(multiply(x, kernel), 1) * factor)
        x = ops.tanh(multiply(x, other)) / ops.cast(count, x.dtype)
    return None, (h, x)


def _run(join):
    def run(x, h, kernel, other, unused):
        kernels, arguments = (kernel, other, unused), ((x, h), None, ops.convert_to_tensor(COUNT), 2)
        nothing, found = join_gradients(_loop, kernels, arguments) if join else _loop(kernels, arguments)
        assert nothing is None
        return found

    return run


@pytest.mark.parametrize("mode", MODES)
def test_changes_no_value_and_no_gradient(mode):
    arrays = X, H, KERNEL, OTHER, OTHER[:2]
    SEEN.clear()
    found = gradients(_run(True), *arrays, mode=mode)
    assert (JoinedKernel in SEEN) == (BACKEND != "torch")
    for one, other in zip(found, gradients(_run(False), *arrays), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
    assert all(np.any(d) for d in found[1][:4])
    assert not np.any(found[1][4])


@pytest.mark.skipif(BACKEND != "jax", reason="the traced program is JAX's")
def test_the_gradient_of_a_kernel_is_one_product():
    import jax

    def weight_gradients(join):
        """The number of products `(3, rows) @ (rows, 3)`."""

        def loss(kernel, other):
            return sum(ops.sum(y) for y in _run(join)(X, H, kernel, other, OTHER))

        return str(jax.make_jaxpr(jax.grad(loss, argnums=(0, 1)))(KERNEL, OTHER)).count("f32[3,3] = dot_general")

    assert weight_gradients(True) == 2
    assert weight_gradients(False) > 6


@pytest.mark.skipif(BACKEND != "tensorflow", reason="only TensorFlow has tapes")
def test_a_gradient_can_be_computed_twice():
    import tensorflow as tf

    x, h, kernel, other = map(tf.constant, (X, H, KERNEL, OTHER))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(kernel)
        result = tf.reduce_sum(_run(True)(x, h, kernel, other, other)[0])
    np.testing.assert_allclose(tape.gradient(result, kernel), tape.gradient(result, kernel))
