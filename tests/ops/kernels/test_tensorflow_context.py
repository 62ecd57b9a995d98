from __future__ import annotations

import sys

import pytest

from keras_slstm.ops.kernels.tensorflow_context import inside_xla
from tests.backend import BACKEND


def test_eager_code_is_not_compiled():
    assert not inside_xla()


@pytest.mark.skipif(BACKEND != "tensorflow", reason="asks TensorFlow")
@pytest.mark.parametrize("jit_compile", [False, True])
def test_graphs_detect_xla(jit_compile, monkeypatch):
    import tensorflow as tf

    def traced():
        found.append(inside_xla())
        return tf.constant(0)

    found = []
    tf.function(traced, jit_compile=jit_compile)()
    assert found == [jit_compile]
    monkeypatch.setitem(sys.modules, "tensorflow.python.ops.control_flow_util", None)
    tf.function(traced, jit_compile=jit_compile)()
    assert found == [jit_compile, True]  # the safe answer, where the private name has moved
