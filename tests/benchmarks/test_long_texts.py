from __future__ import annotations

import keras
import numpy as np
import pytest

from benchmarks import long_texts, memory, timed_tables
from keras_slstm.files import write_json
from keras_slstm.layers import CASLSTM, SLSTM, DepthAdaptiveGRN, SuBiLSTM
from tests.backend import BACKEND

SHAPE = (1, 1000, 16)


@pytest.mark.skipif(BACKEND != "jax", reason="where XLA says how much it needs")
@pytest.mark.parametrize(
    ("make", "options", "share"),
    [
        (CASLSTM, {"segment_length": 50}, 0.5),
        (SLSTM, {"rematerialize": True}, 0.5),
        (lambda *args, **options: SuBiLSTM(*args, max_context=8, **options), {"rematerialize": True}, 0.5),
        (lambda *args, **options: DepthAdaptiveGRN(*args, selection="full", **options), {"rematerialize": True}, 0.5),
    ],
    ids=["CASLSTM", "SLSTM", "SuBiLSTM", "DepthAdaptiveGRN"],
)
def test_options_save_memory(make, options, share):
    import jax

    def temporary_bytes(**options) -> int:
        layer = make(16, **options)
        layer.build(SHAPE)
        variables = layer.trainable_variables

        def loss(weights, x):
            with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
                return (layer(x, training=True) ** 2).sum()

        weights, x = [v.value for v in variables], np.zeros(SHAPE, "float32")
        return jax.jit(jax.grad(loss)).lower(weights, x).compile().memory_analysis().temp_size_in_bytes

    assert temporary_bytes(**options) < share * temporary_bytes()


@pytest.mark.short_run("torch")
def test_measures_and_makes_a_table(tmp_path):
    names = ["CAS-LSTM, segment_length=5", "S-LSTM, rematerialize"]
    size = ["--words=12", "--units=3", "--segment-length=5"]
    rows = [memory.in_new_process("benchmarks.long_texts", f"--measure={name}", *size) for name in names]
    assert [row["encoder"] for row in rows] == names
    assert all(row["seconds"] > 0 and row["megabytes"] >= 0 for row in rows)
    conditions = {"processor": "a processor", "cores": 2, "versions": {"keras": "3"}}
    settings = {"words": 12, "units": 3, "segment_length": 5}
    path = tmp_path / "long-texts-torch" / "long_texts.json"
    path.parent.mkdir()
    write_json(path, {"conditions": conditions, "settings": settings, "rows": rows})
    text = timed_tables.long_text_costs(tmp_path)
    assert "One text of 12 words, 3 units; a processor, 2 cores; keras 3:" in text
    assert all(f"| {name} | " in text for name in names)
    assert set(names) <= set(long_texts.encoders(3, 5))
