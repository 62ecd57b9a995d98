import errno
import json
import os
import subprocess
import sys

import keras
import pytest

from keras_slstm.errors import DataError
from keras_slstm.training import results

pytestmark = pytest.mark.short_run("torch")


def test_lines_are_appended_with_their_circumstances(tmp_path):
    path = tmp_path / "new" / "deeper" / "results.jsonl"
    results.append_result(path, {"test_accuracy": 0.5, "data": "mots d'été"})
    results.append_result(path, {"test_accuracy": 0.75})
    first, second = results.read_results(path)
    assert (first["test_accuracy"], first["data"], second["test_accuracy"]) == (0.5, "mots d'été", 0.75)
    assert first["conditions"]["backend"] == keras.backend.backend()
    assert first["conditions"]["versions"]["keras"] == keras.__version__


def test_an_incomplete_line_is_detected_and_not_continued(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"a": 1}\n{"a": ')
    results.append_result(path, {"a": 3})
    assert json.loads(path.read_text().split("\n")[2])["a"] == 3
    with pytest.raises(DataError, match=r"results.jsonl:2: invalid JSON"):
        results.read_results(path)


def test_a_line_must_be_an_object(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text("[1]\n")
    with pytest.raises(DataError, match="list"):
        results.read_results(path)


def test_commit_of_a_checkout_and_of_none(monkeypatch, tmp_path):
    path = tmp_path / "results.py"
    path.write_text("1\n")
    monkeypatch.setattr(results, "__file__", str(path))
    assert results.commit() is None

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    assert results.commit() is None  # a package installed below some other checkout
    lines = tmp_path / "deep" / "results.jsonl"
    lines.parent.mkdir()
    lines.write_text("{}\n")
    git("add", "results.py", "deep/results.jsonl")
    git("commit", "-q", "-m", "first")
    assert results.commit() == git("rev-parse", "HEAD")[:12]
    lines.write_text("{}\n{}\n")  # a study adds lines while it runs
    assert results.commit() == git("rev-parse", "HEAD")[:12]
    path.write_text("2\n")
    assert results.commit() == git("rev-parse", "HEAD")[:12] + "+"


def test_a_run_is_written_once(tmp_path):
    """A process that is killed after its line, and goes on later, writes no second one."""
    path = tmp_path / "results.jsonl"
    half = b'{"run": "b", "half": '
    path.write_bytes(b'null\n[1]\n"b"\n' + half)
    for run in ("a", "b", "a", "b", None, None):
        results.append_result(path, {"run": run} if run else {})
    lines = [json.loads(line) for line in path.read_text().split("\n")[4:-1]]
    assert [line.get("run") for line in lines] == ["a", "b", None, None]


@pytest.mark.parametrize("line", ["null", "[1]", '"a"', "1.5", '{"a": ', '{"a": 1}}', "[" * 100_000, b"\xff"])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"a": 1}\n\n' + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    with pytest.raises(DataError, match=r"results.jsonl:3: .*Delete the line") as caught:
        results.read_results(path)
    assert "\n" not in str(caught.value)


def test_lines_of_other_processes_stay_if_the_disk_is_full(monkeypatch, tmp_path):
    path = tmp_path / "results.jsonl"

    def fail(file):
        with path.open("ab") as other:
            other.write(b'{"b": 1}\n')
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="could not be written"):
        results.append_result(path, {"a": 1})
    assert [next(iter(line)) for line in results.read_results(path)] == ["a", "b"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_a_full_disk_does_not_change_the_file(tmp_path):
    import resource

    path = tmp_path / "results.jsonl"
    results.append_result(path, {"a": 1})
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))
    try:
        with pytest.raises(OSError, match=r"results.jsonl could not be written.*start again"):
            results.append_result(path, {"a": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
