from __future__ import annotations

import keras
import numpy as np
import pytest

from benchmarks import memory, timed_tables
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


@pytest.mark.ci_run("torch")
@pytest.mark.short_run("torch")
def test_measures_in_new_processes():
    size = ["--words=12", "--units=3", "--segment-length=5"]
    for name in ("CAS-LSTM, segment_length=5", "CRF of 17 labels"):
        row = memory.in_new_process("benchmarks.long_texts", f"--measure={name}", *size)
        assert (row["encoder"], row["words"]) == (name, 12)
        assert row["seconds"] > 0
        assert row["megabytes"] >= 0


@pytest.mark.short_run("torch")
def test_table_has_the_ratio_to_the_layer_without_the_option(tmp_path):
    measured = [("S-LSTM", 10, 7.4, 1.0), ("S-LSTM", 2000, 60, 2.0), ("S-LSTM, rematerialize", 2000, 12, 3.0)]
    measured.append(("SuBiLSTM", 10, 50, 4.0))
    rows = [dict(zip(("encoder", "words", "megabytes", "seconds"), row, strict=True)) for row in measured]
    conditions = {"processor": "a processor", "cores": 2, "versions": {"keras": "3"}}
    path = tmp_path / "long-texts-torch" / "long_texts.json"
    path.parent.mkdir()
    write_json(path, {"conditions": conditions, "settings": {"units": 3, "segment_length": 5}, "rows": rows})
    assert timed_tables.long_text_costs(tmp_path).splitlines() == [
        "One text, 3 units; a processor, 2 cores; keras 3:",
        "",
        "| | 10 words | 2,000 words | seconds a step |",
        "| --- | ---: | ---: | ---: |",
        "| S-LSTM | 7 | 60 | 2.0 |",
        "| S-LSTM, rematerialize |  | 12 | 3.0; 1.5 x |",
        "| SuBiLSTM | 50 |  | 4.0 (10 words) |",
    ]
