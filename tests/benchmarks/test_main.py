from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as page
from benchmarks import timed_tables

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folders(monkeypatch, tmp_path):
    """Benchmarks that write one line, and folders for what they write."""
    ran = []

    def write(command, **kwargs):
        ran.append((command, kwargs["env"]["KERAS_BACKEND"]))
        output = Path(command[-1])
        output = output if output.suffix else output / "found.json"
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("a") as file:
            file.write("new")

    recorded = tmp_path / "results"
    recorded.mkdir()
    monkeypatch.setattr(page, "RESULTS", recorded)
    monkeypatch.setattr(page, "fill", str.upper)
    monkeypatch.setattr(subprocess, "run", write)
    return ran, recorded, tmp_path / "new"


def start(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, words)])
    page.main()


def test_complete_measurements_replace_the_recorded_ones(folders, monkeypatch):
    ran, recorded, new = folders
    (recorded / "crf-jax").mkdir()
    (recorded / "crf-jax" / "old.json").write_text("old")
    start(monkeypatch, "--only", "crf-jax", "streaming.jsonl", "--folder", new)
    assert [backend for _, backend in ran] == ["jax", "tensorflow", "tensorflow"]
    assert ["39000000" in command for command, _ in ran] == [False, False, True]
    files = {path.relative_to(recorded).as_posix(): path.read_text() for path in recorded.rglob("*.json*")}
    assert files == {"crf-jax/found.json": "new", "streaming.jsonl": "newnew"}  # the second run adds to the file
    assert (new / "benchmarks.md").read_text().startswith("# BENCHMARKS")


def test_an_interrupted_run_continues(folders, monkeypatch):
    ran, _, new = folders
    start(monkeypatch, "--only", "crf-jax", "--folder", new)
    start(monkeypatch, "--only", "crf-jax", "depth-jax", "--folder", new)
    assert [command[2] for command, _ in ran] == ["benchmarks.crf", "benchmarks.depth"]


def test_a_failed_benchmark_leaves_the_recorded_results(folders, monkeypatch):
    _, recorded, new = folders
    (recorded / "scaling.json").write_text("old")

    def fail(command, **kwargs):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(subprocess.CalledProcessError):
        start(monkeypatch, "--only", "scaling.json", "--folder", new)
    assert (recorded / "scaling.json").read_text() == "old"


def test_an_unknown_measurement_is_named(folders, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        start(monkeypatch, "--only", "crf-mxnet")
    assert "crf-mxnet is none of encoders-tensorflow" in capsys.readouterr().err


def test_every_recorded_result_of_the_page_has_a_command():
    patterns = re.findall(r'"([a-z-]+-\*/\w+\.json)"', Path(timed_tables.__file__).read_text(encoding="utf-8"))
    recorded = {path.parent.name for pattern in patterns for path in page.RESULTS.glob(pattern)}
    commands = {measurement.name for measurement in page.measurements()}
    assert len(patterns) >= 6
    assert {name for name in recorded if "-gpu" not in name} <= commands
