from __future__ import annotations

from argparse import Namespace

import keras
import numpy as np
import pytest

from benchmarks import memory, subilstm, timing
from keras_slstm.layers import SuBiLSTM
from tests.backend import BACKEND


@pytest.mark.skipif(BACKEND != "tensorflow", reason="needs TensorFlow's graphs")
@pytest.mark.short_run
def test_rematerialisation_takes_less_memory():
    """Segments must not be recomputed all at once, before their gradients need them."""
    size = ["--lengths", "96", "--units", "64", "--batch", "16", "--modes", "graph"]
    plain, again = (
        memory.in_new_process("benchmarks.subilstm", "--peak-of", name, *size)
        for name in ("SuBiLSTM", "SuBiLSTM, rematerialised")
    )
    assert again < plain / 2


@pytest.mark.skipif(BACKEND != "jax", reason="only JAX reports XLA's memory")
def test_rematerialisation_takes_less_memory_under_xla():
    """Only the gradients of one block at a time may be kept."""
    import jax

    def temporary_bytes(rematerialize: bool) -> int:
        layer = SuBiLSTM(16, rematerialize=rematerialize)
        layer.build((16, 48, 16))
        variables = layer.trainable_variables

        def loss(weights, x):
            with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
                return (layer(x, training=True) ** 2).sum()

        weights, x = [v.value for v in variables], np.zeros((16, 48, 16), "float32")
        return jax.jit(jax.grad(loss)).lower(weights, x).compile().memory_analysis().temp_size_in_bytes

    assert temporary_bytes(True) < 0.8 * temporary_bytes(False)


def test_each_encoder_is_timed():
    sizes = Namespace(batch=2, units=3, encoders=None, modes=list(timing.MODES[:1]), separate_up_to=3, rounds=1)
    rows = subilstm.measure(sizes, 3)
    assert {row["encoder"] for row in rows} == {*subilstm.encoders(3), *subilstm.FLOORS}
    assert all(row["seconds"] > 0 for row in rows if row["encoder"] not in subilstm.FLOORS)  # calls are subtracted
