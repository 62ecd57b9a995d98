from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.kernels.tensorflow_ops import add_all, gather_rows, replace_rows, sigmoid_gradient, slice_along
from tests.backend import BACKEND, MODES, default_cotangent, dtype_policy, gradients, outputs

X = np.random.default_rng(0).normal(size=(5, 4, 3))
INDEX = [2, 0, 2, 2, 1, 0]  # row 3 and 4 are not taken


def _with_gradient(function, x, mode):
    with dtype_policy("float64"):
        (found,), (d_x,) = gradients(function, x, mode=mode)
    return found, d_x


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_part_is_a_slice_and_so_is_its_gradient(axis, mode):
    found, d_x = _with_gradient(lambda x: slice_along(x, 1, 2, axis), X, mode)
    where = (slice(None),) * axis + (slice(1, 3),)
    np.testing.assert_array_equal(found, X[where])
    expected = np.zeros_like(X)
    expected[where] = default_cotangent(found.shape)
    np.testing.assert_array_equal(d_x, expected)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="its tensors can have an unknown size")
def test_part_keeps_the_sizes_that_are_known():
    shape = keras.KerasTensor((None, None, 3)).shape
    import tensorflow as tf

    found = tf.function(lambda x: slice_along(x, 0, ops.shape(x)[1] - 1, axis=1)).get_concrete_function(
        tf.TensorSpec(shape, "float32")
    )
    assert found.output_shapes.as_list() == [None, None, 3]


@pytest.mark.parametrize("mode", MODES)
def test_gather_rows_and_its_gradient(mode):
    table = X[:, :, 0]
    found, d_table = _with_gradient(lambda x: gather_rows(x, ops.convert_to_tensor(INDEX, dtype="int32")), table, mode)
    np.testing.assert_array_equal(found, table[INDEX])
    expected = np.zeros_like(table)
    np.add.at(expected, INDEX, default_cotangent(found.shape))
    np.testing.assert_allclose(d_table, expected, rtol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_are_replaced_have_no_gradient(mode):
    table, rows, index = X[:, :, 0], X[:2, :, 1], [3, 1]
    with dtype_policy("float64"):
        (found,), (d_table, d_rows) = gradients(
            lambda x, y: replace_rows(x, ops.convert_to_tensor(index, dtype="int32"), y), table, rows, mode=mode
        )
    expected = table.copy()
    expected[index] = rows
    np.testing.assert_array_equal(found, expected)
    cotangent = default_cotangent(table.shape)
    np.testing.assert_array_equal(d_rows, cotangent[index])
    cotangent[index] = 0
    np.testing.assert_array_equal(d_table, cotangent)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_sum_of_several(count):
    found, d_x = _with_gradient(lambda x: add_all([(i + 1) * x for i in range(count)]), X, MODES[-1])
    factor = count * (count + 1) / 2
    np.testing.assert_allclose(found, factor * X, rtol=1e-14)
    np.testing.assert_allclose(d_x, factor * default_cotangent(X.shape), rtol=1e-14)


def test_gradient_through_a_sigmoid():
    with dtype_policy("float64"):
        (found,) = outputs(lambda y, d_y: sigmoid_gradient(y, d_y), np.full((2,), 0.2), np.array([1.0, -3.0]))
    np.testing.assert_allclose(found, 0.16 * np.array([1.0, -3.0]), rtol=1e-14)
