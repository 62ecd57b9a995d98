"""The table and the measurement of latencies in several runtimes."""

import json

import numpy as np
import pytest

from benchmarks import latency, tables

pytestmark = pytest.mark.backends("torch")  # tables only


def row(runtime, model, length, seconds):
    return {"runtime": runtime, "model": model, "length": length, "seconds": seconds, "megabytes": 1000 * seconds}


ROWS = [
    row("`predict`", latency.REFERENCE, 1, 0.02),
    row("`predict`", "S-LSTM", 1, 0.03),
    row("`predict`", "S-LSTM", 20, 0.04),
    row("LiteRT", "S-LSTM", 1, 0.005),
]


def test_ratios_are_within_one_runtime_and_length(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    conditions = {"processor": "P", "cores": 2, "versions": {"keras": "3"}}
    settings = {"lengths": [1, 20], "units": 8, "rounds": 3, "threads": 1}
    assert tables.fill("<!-- table: latency -->") == "Not measured yet."
    (tmp_path / "latency-tensorflow").mkdir()
    found = {"conditions": conditions, "settings": settings, "rows": ROWS}
    (tmp_path / "latency-tensorflow" / "latency.json").write_text(json.dumps(found))
    text = tables.fill("<!-- table: latency -->")
    assert "One sentence of 1 word, 8 units, threads: 1; P, 2 cores; keras 3; medians of 3 rounds:" in text
    assert "| `predict` | 20.00 | 30.00 (1.50) |" in text
    assert "| LiteRT | does not run | 5.00 |" in text
    assert "One sentence of 20 words" in text
    assert "| `predict` | does not run | 40.00 |" in text
    assert "| LiteRT | does not run | 5.0 |" in text.split("File sizes")[1]


def test_each_call_is_timed_in_turn(tmp_path, monkeypatch):
    order = []

    def load(path, words, threads):
        assert words.shape in ((1, 2), (1, 3))
        assert words.dtype == np.int32
        return lambda: order.append((path.parent.name, words.shape[1]))

    monkeypatch.setitem(latency.RUNTIMES, "LiteRT", ("model.tflite", load))
    (tmp_path / "S-LSTM").mkdir()
    (tmp_path / "S-LSTM" / "model.tflite").write_bytes(b"x" * 1000)

    class args:
        models, lengths, rounds, threads = ["S-LSTM", "CAS-LSTM"], [2, 3], 2, 1

    rows = latency.measure("LiteRT", tmp_path, args)
    assert [(each["model"], each["length"], each["megabytes"]) for each in rows] == [
        ("S-LSTM", 2, 0.001),
        ("S-LSTM", 3, 0.001),
    ]
    assert (
        order
        == [("S-LSTM", 2), ("S-LSTM", 3)]
        + [("S-LSTM", 2)] * 2
        + [("S-LSTM", 3)] * 2
        + [("S-LSTM", 2)] * 2
        + [("S-LSTM", 3)] * 2
    )
