from __future__ import annotations

import keras
import pytest

from benchmarks import memory


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="XLA on CPUs decides by itself what is there when")
def test_what_is_computed_again_takes_less_memory():
    """And not all at once, before the gradient has come to where it needs it."""
    size = ["--lengths", "96", "--units", "64", "--batch", "16", "--modes", "graph"]
    plain, again = (
        memory.in_new_process("benchmarks.subilstm", "--peak-of", name, *size)
        for name in ("SuBiLSTM", "SuBiLSTM, rematerialised")
    )
    assert again < plain / 2
