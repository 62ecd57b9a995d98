from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.backend import direct
from tests.backend import BACKEND, to_numpy

X = np.random.default_rng(0).normal(size=(2, 3, 4))
CALLS = {
    "sigmoid": lambda at, x: at.sigmoid(x),
    "tanh": lambda at, x: at.tanh(x),
    "exp": lambda at, x: at.exp(x),
    "concatenate": lambda at, x: at.concatenate([x, 2 * x], axis=1),
    "reshape": lambda at, x: at.reshape(x, (-1, 2)),
    "expand_dims": lambda at, x: at.expand_dims(x, 1),
    "broadcast_to": lambda at, x: at.broadcast_to(x[:1], at.shape(x)),
    "cast": lambda at, x: at.cast(x, "float64"),
    "where": lambda at, x: at.where(x > 0, x, -x),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", CALLS)
def test_the_result_is_that_of_keras(name, dtype):
    x = ops.cast(ops.convert_to_tensor(X), dtype)
    found, expected = (to_numpy(CALLS[name](at, x)) for at in (direct, ops))
    assert found.dtype == expected.dtype
    # `ops.tanh` rounds float64 on JAX.
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "float64" else 1e-3)


def test_parts_and_sums():
    x = ops.convert_to_tensor(X)
    for found, expected in zip(direct.split(x, 2), np.split(X, 2, axis=-1), strict=True):
        np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-6)
    np.testing.assert_allclose(to_numpy(direct.add_up(x, 1)), X.sum(1), rtol=1e-6)
    assert tuple(direct.shape(x)) == X.shape


@pytest.mark.skipif(BACKEND != "torch", reason="other backends run the functions of Keras")
def test_kernels_call_pytorch_directly(monkeypatch):
    """Several hundred calls of `keras.ops` took longer than the products of one sentence."""
    import keras_slstm

    called = []
    layer = keras_slstm.SLSTM(4, steps=9)
    x = np.ones((1, 5, 4), "float32")
    layer(x)
    for name in ("sigmoid", "tanh", "exp", "concatenate", "reshape", "split", "expand_dims", "cast", "sum"):
        function = getattr(ops, name)
        monkeypatch.setattr(ops, name, lambda *a, _f=function, **k: called.append(_f.__name__) or _f(*a, **k))
    layer(x)
    assert len(called) < 30, called  # independent of the number of steps
