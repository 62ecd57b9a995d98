"""With their default options, the commands learn small files clearly better than the majority label."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from keras_slstm.cli.main import main
from tests.small_files import SMALL_FILES, examples, write

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the plot needs the `plots` extra")

FILES = {file.name: file for file in SMALL_FILES}
COMMANDS = {"text": ["classify"], "pair": ["match", "--task", "paraphrase"], "tokens": ["tag", "--task", "ner"]}


@pytest.mark.parametrize("file", SMALL_FILES, ids=FILES.get)
def test_the_generator_is_reproducible_and_has_all_labels(file):
    rows = examples(file)
    assert rows == examples(file)
    assert rows != examples(file, seed=1)
    assert len(rows) == file.lines
    labels = Counter(tuple(row[-1]) if file.kind == "tokens" else row[-1] for row in rows)
    assert len(labels) > 1
    if file.kind != "tokens":
        assert labels.most_common(1)[0][1] / file.lines < 0.75


@pytest.mark.backends("torch")
@pytest.mark.ci_run  # trains for a minute
@pytest.mark.parametrize("name", ["eighty_opinions", "pairs_of_a_kind", "places"])
def test_small_files_are_learned(name, tmp_path, monkeypatch):
    pytest.importorskip("seqeval", reason="the report of tags needs the `examples` extra")
    monkeypatch.chdir(tmp_path)
    file = FILES[name]
    ending = "conll" if file.kind == "tokens" else "tsv"
    data = write(file, tmp_path / f"own.{ending}")
    test = write(file, tmp_path / f"test.{ending}", seed=1, count=100)
    words = [*COMMANDS[file.kind], "--data", data, "--test-data", test, "--output", tmp_path / "run"]
    assert main([str(word) for word in words]) == 0
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    if file.kind == "tokens":
        assert result["test_f1"] > 0.8
    else:
        majority = Counter(row[-1] for row in examples(file, 1, 100)).most_common(1)[0][1] / 100
        assert result["test_accuracy"] > majority + 0.2
    assert result["updates"] > 500
