"""The page on choosing an encoder compares only models that were trained alike."""

from __future__ import annotations

import json

import pytest

from benchmarks import comparisons, study_report, study_statistics, timed_tables
from benchmarks import study as studies

FILE = """
question = "Is one better?"
command = "classify"
measure = "accuracy"
options = { preset = "small" }
seeds = [0, 1, 2]
baseline = "base"
[data]
a = { dataset = "a" }
b = { dataset = "b" }
[rows]
own = { encoder = "slstm", steps = 9 }
pooled = { encoder = "slstm", readout = "max" }
other = { encoder = "slstm", optimizer = "muon" }
cnn = { encoder = "cnn" }
base = { encoder = "bilstm" }
"""
AVERAGE = """
[[claims]]
row = "own"
paper = "A paper"
says = "It is."
average = true
"""


@pytest.fixture
def accuracy(tmp_path, monkeypatch):
    """A function that writes a study with one line per score, and returns the rows of the table."""
    monkeypatch.setattr(studies, "RESULTS", tmp_path)
    monkeypatch.setattr(study_report, "STUDIES", tmp_path)
    monkeypatch.setattr(study_statistics, "RESAMPLES", 200)

    def rows(scores, text=FILE, **changes):
        (tmp_path / "s.toml").write_text(text)
        study = studies.read_study(tmp_path / "s.toml")
        lines = []
        for (row, data), of_seeds in scores.items():
            for seed, right in enumerate(of_seeds):
                line = {
                    **studies.Training(study, row, data, seed, None).key, "development_score": 0.5,
                    "test_score": right / 10, "settings": {}, "split": {}, "test_part": "t", "commit": "c",
                    "conditions": {}, "best_epoch": 1, "epochs": 2, "parameters": 3,
                    "items": [[int(item < right), 1, 1] for item in range(10)], "words": [5] * 10,
                }  # fmt: skip
                lines.append({**line, **(changes if row != "base" else {})})
        study.results.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return [[cell.strip() for cell in row.split("|")[1:-1]] for row in comparisons.accuracy().splitlines()[2:]]

    return rows


BASE = {("base", "a"): [5, 6, 7]}


def test_an_encoder_is_compared_with_the_baseline_of_the_study(accuracy):
    (row,) = accuracy({("own", "a"): [8, 8, 8], **BASE})
    assert row[:6] == [
        "a",
        "accuracy",
        "own ([max; mean; g])",
        "80.00 ± 0.00",
        "base (the final states)",
        "60.00 ± 10.00",
    ]
    assert row[6].startswith("+20.00 [")
    assert row[7] == "`s`"


def test_only_fair_comparisons_are_shown(accuracy):
    own = {("own", "a"): [8, 8, 8], **BASE}
    assert len(accuracy(own)) == 1
    assert not accuracy({("own", "a"): [8, 8], **BASE})
    assert not accuracy(own, best_epoch=2)
    assert not accuracy(own, commit="d")


def test_rows_may_differ_in_the_encoder_only(accuracy):
    found = accuracy({(row, "a"): [8, 8, 8] for row in ("own", "pooled", "other", "cnn")} | BASE)
    assert [row[2] for row in found] == ["own ([max; mean; g])", "pooled (max)"]


def test_the_baseline_is_not_an_encoder_of_the_package(accuracy):
    own = {("own", "a"): [8, 8, 8], **BASE}
    assert not accuracy(
        own, text=FILE.replace('base = { encoder = "bilstm" }', 'base = { encoder = "full_depth_grn" }')
    )


def test_equal_sentence_vectors_are_not_named(accuracy):
    rows = 'own = { encoder = "caslstm" }\nbase = { encoder = "bilstm", pooling = "max" }\n'
    (row,) = accuracy({("own", "a"): [8, 8, 8], **BASE}, text=FILE[: FILE.index("own =")] + rows)
    assert row[2:5:2] == ["own", "base"]


def test_a_larger_learning_rate_for_recurrent_kernels_is_named(accuracy):
    rows = 'own = { encoder = "slstm", readout = "max", recurrent-multiplier = 4 }\n'
    rows += 'one = { encoder = "slstm", readout = "max", recurrent-multiplier = 1 }\n'
    rows += 'base = { encoder = "bilstm", pooling = "max" }\n'
    scores = {("own", "a"): [8, 8, 8], ("one", "a"): [7, 7, 7], **BASE}
    found = accuracy(scores, text=FILE[: FILE.index("own =")] + rows)
    assert [row[2] for row in found] == ["own (4 times the learning rate for recurrent kernels)", "one"]


def test_an_average_needs_all_data_sets(accuracy):
    own = {("own", "a"): [8, 8, 8], **BASE}
    assert not accuracy(own, text=FILE + AVERAGE)
    both = own | {("own", "b"): [6, 6, 6], ("base", "b"): [7, 8, 9]}
    (row,) = accuracy(both, text=FILE + AVERAGE)
    assert row[0] == "average over a, b"
    assert row[3] == "70.00 ± 0.00"
    assert row[5] == "70.00 ± 10.00"
    assert [row[0] for row in accuracy(both)] == ["a", "b"]


def test_parts_of_one_data_set_are_shown_with_its_name(accuracy):
    of_one = FILE.replace("options = {", 'options = { dataset = "reviews",') + AVERAGE
    (row,) = accuracy({(of, data): [5, 6, 7] for of in ("own", "base") for data in ("a", "b")}, text=of_one)
    assert row[0] == "`reviews`, average over a, b"


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
