"""The page on choosing an encoder compares only models that were trained alike."""

from __future__ import annotations

import json

from benchmarks import comparisons, timed_tables


def run(encoder: str, test: float, seed: int = 0, command: str = "--epochs 3", **more) -> dict:
    return {"data": "trec/coarse", "encoder": encoder, "seed": seed, "test_accuracy": test,
            "command": f"keras-slstm classify --encoder {encoder} {command}", **more}  # fmt: skip


def rows(*grouped: list[dict]) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in comparisons.accuracy(grouped).splitlines()[2:]]


def test_an_encoder_is_compared_with_the_baseline_of_the_same_command():
    own = [run("slstm", 0.7), run("slstm", 0.8, seed=1)]
    base = [run("bilstm", 0.71), run("bilstm", 0.73, seed=1), run("bilstm", 0.75, seed=2)]
    expected = ["TREC, 6 classes", "accuracy", "S-LSTM", "75.0 ± 7.1", "BiLSTM", "73.0 ± 2.0", "2"]
    assert rows(base, own) == [expected]


def test_other_commands_data_and_vectors_are_not_compared():
    base = [run("bilstm", 0.7)]
    assert not rows(base, [run("slstm", 0.8, command="--epochs 4")])
    assert not rows(base, [run("slstm", 0.8, data="subj")])
    assert not rows(base, [run("slstm", 0.8, vectors="glove.txt")])
    assert not rows(base, [run("cnn", 0.8)])


def test_the_baseline_has_the_same_pooling():
    base, pooled = [run("bilstm", 0.7)], [run("bilstm + attention", 0.6)]
    (row,) = rows(base, pooled, [run("slstm + attention", 0.8)])
    assert row[4:6] == ["BiLSTM + attention", "60.0"]


def test_memory_by_length(tmp_path):
    folder = tmp_path / "encoders-torch"
    folder.mkdir()
    result = {
        "settings": {"units": 5, "batches": [1, 32]},
        "conditions": {"versions": {"torch": "2"}},
        "peak_memory_mb": {"S-LSTM": {"16": 10.4, "32": 20.6}, "BiLSTM": {"16": 3.0}, "left out": {}},
    }
    (folder / "encoders.json").write_text(json.dumps(result), encoding="utf-8")
    lines = comparisons.memory(tmp_path).splitlines()
    assert lines[0] == "Batch 32, 5 units; torch 2:"
    assert lines[2:] == [
        "| | 16 words | 32 words |", "| --- | ---: | ---: |", "| S-LSTM | 10 | 21 |", "| BiLSTM | 3 |  |",
    ]  # fmt: skip


def test_an_encoder_that_was_not_measured_in_a_mode_has_an_empty_cell(tmp_path):
    _write_encoders(tmp_path / "encoders-torch")
    assert timed_tables.speed(tmp_path).splitlines()[-4:] == [
        "| | training, eager | training, compiled |",
        "| --- | ---: | ---: |",
        "| S-LSTM | 500 (2.00) | 500 (2.00) |",
        "| BiLSTM | 500 (2.00) |  |",
    ]


def test_times_by_length(tmp_path):
    _write_encoders(tmp_path / "slstm-torch")
    assert timed_tables.slstm_by_length(tmp_path).splitlines() == [
        "Batch 1, 5 units, 2 steps; a CPU, 2 cores; torch 2; medians of 3 rounds:",
        "",
        "| | length 64 |",
        "| --- | ---: |",
        "| training, eager: S-LSTM | 500 ms (2.00) |",
        "| training, compiled: S-LSTM | 500 ms (2.00) |",
        "| training, eager: BiLSTM | 500 ms (2.00) |",
    ]


def _write_encoders(folder):
    """Write the results of a benchmark in which the BiLSTM was not compiled."""
    folder.mkdir()
    row = {"kind": "training", "batch": 1, "length": 64, "seconds": 0.5, "to_floor": 2.0}
    measured = [{**row, "encoder": "S-LSTM", "mode": mode} for mode in ("eager", "compiled")]
    sizes = {"units": 5, "steps": 2, "batches": [1], "lengths": [64], "rounds": 3, "dtype": "float32", "floor": ""}
    result = {
        "settings": sizes,
        "conditions": {"processor": "a CPU", "cores": 2, "versions": {"torch": "2"}},
        "rows": [*measured, {**row, "encoder": "BiLSTM", "mode": "eager"}],
        "peak_memory_mb": {},
    }
    (folder / "encoders.json").write_text(json.dumps(result), encoding="utf-8")
