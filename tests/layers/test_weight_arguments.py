from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import layers
from tests.backend import to_numpy


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


def _twos(shape, dtype=None):
    return 2 * keras.ops.ones(shape, dtype=dtype)


@pytest.mark.parametrize("initializer", [keras.initializers.Ones(), keras.initializers.RandomNormal(seed=1), _twos])
def test_other_initialisers_are_used_unchanged(initializer):
    expected = to_numpy(initializer((2, 6)))
    for found in _kernels(recurrent_initializer=initializer):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_of_half_precision_are_drawn_in_float32(dtype):
    layer = layers.SLSTM(2, recurrent_initializer=keras.initializers.Orthogonal(seed=0), dtype=dtype)
    layer.build((None, None, 3))
    assert layer.recurrent_kernel.dtype == dtype
    expected = to_numpy(keras.initializers.Orthogonal(seed=0)(tuple(layer.recurrent_kernel.shape)))
    np.testing.assert_allclose(to_numpy(layer.recurrent_kernel).astype("float32"), expected, rtol=0.01, atol=0.01)
