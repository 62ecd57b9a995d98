"""The tables agree with the result lines."""

from __future__ import annotations

import json
import os
import re
import sys

import keras

from benchmarks import scaling, tables


def run(encoder: str, seed: int, test: float, data: str = "mr", **more) -> dict:
    settings = {"units": 3, "seed": seed, "data": f"hash{seed}"}
    return {
        "data": data, "encoder": encoder, "seed": seed, "development_accuracy": 0.8, "test_accuracy": test,
        "seconds_per_epoch": 10.0 + seed, "command": "python x", "settings": settings, **more,
    }  # fmt: skip


def cells(table: str) -> list[list[str]]:
    """Return the cells of a table, with each footnote mark replaced by its text."""
    notes = dict(re.findall(r"^(\[\^[a-z0-9-]+\]): (.*)$", table, flags=re.MULTILINE))
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("|")]
    return [[notes.get(cell.strip(), cell.strip()) for cell in row] for row in rows[2:]]


def test_depths_have_means(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    adaptive = [run("depth_adaptive_grn", seed, 0.7, mean_depth=3 + seed, texts_a_second=99.6) for seed in (0, 1)]
    lines = [*adaptive, run("slstm", 0, 0.6)]
    (tmp_path / "depth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = cells(tables.depths())
    assert rows == [
        ["mr", "Depth-adaptive GRN", "", "3.50", "100", "`python x`"],
        ["mr", "S-LSTM", "", "", "", "`python x`"],
    ]


def test_scaling_has_a_row_for_each_number_of_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    assert tables.scaling().count("\n") == 1
    found = {"versions": {"keras": "3", "jax": "0.1"}, "sentences_per_second": {"1": 10.0, "2": 17.5}, "speedup": 1.75,
             "milliseconds_a_step": {"1": 3200.0, "2": 3657.1}, "settings": {"batch": 32},
             "difference_of_losses": 2.04e-7, "allocator": "glibc"}  # fmt: skip
    (tmp_path / "scaling.json").write_text(json.dumps([found]))
    rows = cells(tables.scaling())
    assert rows == [
        ["keras 3, jax 0.1", "glibc", "1", "32", "3200", "10.0", "1.00", ""],
        ["keras 3, jax 0.1", "glibc", "2", "32", "3657", "17.5", "1.75", "2e-07"],
    ]


def test_scaling_keeps_the_results_of_other_backends_and_allocators(tmp_path):
    path = tmp_path / "scaling.json"
    for backend, allocator, speedup in [("jax", "a", 1), ("torch", "a", 2), ("jax", "b", 3), ("jax", "a", 4)]:
        scaling.write(path, [{"backend": backend, "allocator": allocator, "speedup": speedup}])
    found = {(result["backend"], result["allocator"]): result["speedup"] for result in json.loads(path.read_text())}
    assert found == {("jax", "a"): 4, ("torch", "a"): 2, ("jax", "b"): 3}


def test_scaling_names_the_allocator(monkeypatch):
    for name in ("LD_PRELOAD", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    plain = scaling.allocator()
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    assert scaling.allocator() == f"{plain}, huge pages"
    monkeypatch.setenv("LD_PRELOAD", "/usr/lib/libjemalloc.so.2")
    assert scaling.allocator() == "libjemalloc.so.2, huge pages"


def test_huge_pages_are_a_row_of_their_own(tmp_path, monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setenv("GLIBC_TUNABLES", "")
    monkeypatch.setattr(scaling, "measure", lambda *_: {"seconds": [1.0], "losses": [0.5]})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    path = tmp_path / "scaling.json"
    command = ["scaling", "--backends", keras.backend.backend(), "--output", str(path)]
    for words in ([], ["--huge-pages"]):
        monkeypatch.setattr(sys, "argv", [*command, *words])
        assert scaling.main() == 0
    plain, huge = (result["allocator"] for result in json.loads(path.read_text()))
    assert huge == f"{plain}, huge pages"


def test_the_lstm_of_a_report_has_a_row_for_each_way(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    row = {"way": "two", "windows_per_second": [3.0, 1.0, 2.0], "speedup": 1.504, "difference_of_losses": 3e-6}
    (tmp_path / "lstm_devices.json").write_text(json.dumps({"rows": [row]}))
    assert cells(tables.lstm_devices()) == [["two", "2", "1.50", "3e-06"]]


def test_depths_are_compared_with_full_depth(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    row = {"kind": "inference", "mode": "graph", "mean": 9.0, "seconds": 0.59, "speed_up": 1.0, "depth": "full"}
    found = {
        "conditions": {"processor": "P", "cores": 2, "versions": {"keras": "3"}},
        "settings": {"batch": 4, "length": 5, "units": 6, "max_depth": 9, "rounds": 7},
        "rows": [row, {**row, "depth": "3", "seconds": 0.2561, "speed_up": 2.284}],
    }
    (tmp_path / "depth-b").mkdir()
    (tmp_path / "depth-b" / "depth.json").write_text(json.dumps(found))
    first, *_, full, three = tables.depth_costs().splitlines()
    assert first == "Batch 4, 5 words, 6 units, depths up to 9; P, 2 cores; keras 3; medians of 7 rounds:"
    assert full == "| full | 590 ms (1.00 x) |"
    assert three == "| 3 | 256 ms (2.28 x) |"


def test_searches_are_confirmed_on_the_test_set(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    best = {"name": "best", "trial": "1", "parameters": 1000, "development": [0.8, 0.82], "test": [0.7, 0.74]}
    default = {"name": "default", "trial": None, "parameters": 2000, "development": [0.5, 0.5], "test": [0.6, 0.6]}
    for trial, seconds in enumerate((90.0, 150.0)):
        (tmp_path / "search-x" / f"trial_{trial}").mkdir(parents=True)
        (tmp_path / "search-x" / f"trial_{trial}" / "record.json").write_text(json.dumps({"seconds": seconds}))
    found = {"seeds": [1, 2], "configurations": [best, default]}
    (tmp_path / "search-x" / "confirmation.json").write_text(json.dumps(found))
    rows = cells(tables.searches())
    assert rows == [
        ["x", "best", "1,000", "81.0 ± 1.4", "72.0 ± 2.8", "2", "2", "4"],
        ["x", "default", "2,000", "50.0 ± 0.0", "60.0 ± 0.0", "2", "", ""],
    ]


def test_other_settings_make_another_row():
    other = run("a", 1, 0.7)
    other["settings"]["units"] = 4
    assert [len(group) for group in tables.groups([run("a", 0, 0.7), other, run("a", 2, 0.7)])] == [2, 1]


def test_equal_footnotes_are_merged():
    notes = tables.Footnotes("runs")
    assert [notes.refer(text) for text in ("a", "b", "a")] == ["[^runs-1]", "[^runs-2]", "[^runs-1]"]
    assert notes.definitions() == ["[^runs-1]: a\n", "[^runs-2]: b\n"]


def test_markers_become_tables():
    filled = tables.fill("before\n<!-- table: scaling -->\nafter")
    assert filled == f"before\n{tables.scaling()}\nafter"


def test_tables_show_names_and_no_identifiers():
    for row in cells(tables.depths()):
        shown = re.sub(r" \(.*?\)", "", " ".join(row[:2]))  # arguments keep their identifiers
        assert "_" not in shown, shown
        assert not re.search(r"\b(bi|s|sub)?lstm\b", shown), shown


def test_a_streamed_file_has_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    assert tables.fill("<!-- table: streaming -->") == "Not measured yet."
    conditions = {"processor": "P", "cores": 2, "versions": {"keras": "3"}}
    run = {"conditions": conditions, "lines": 3_000_000, "megabytes": 4000.4, "seconds": 12.3, "cpu_seconds": 15}
    run |= {"peak_megabytes": 900, "sentences_per_second": 1500, "share_of_waiting": 0.004, "share_of_padding": 0.15}
    runs = [run | {"way": "streamed", "processes": 2}, run | {"way": "in memory", "processes": 1}]
    (tmp_path / "streaming.jsonl").write_text("".join(json.dumps(each) + "\n" for each in runs))
    text = tables.fill("<!-- table: streaming -->")
    assert text.startswith("One run each; P, 2 cores; keras 3:\n")
    assert "| streamed, 2 processes | 3 | 4,000 | 12 | 15 | 243,902 | 900 | 1,500 | 0.4% | 15.0% |" in text
    assert "| in memory | 3 |" in text
