from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.backend import precision
from tests.backend import dtype_policy, to_numpy


@pytest.mark.parametrize("name", ["tanh", "sin", "cos"])
@pytest.mark.parametrize("x", [1e-12, 1.0])
def test_float64_is_exact(x, name):
    with dtype_policy("float64"):
        found = getattr(precision, name)(ops.convert_to_tensor(np.array([-x, x]), dtype="float64"))
        assert keras.backend.standardize_dtype(found.dtype) == "float64"
        np.testing.assert_allclose(to_numpy(found), getattr(np, name)([-x, x]), rtol=1e-14)
