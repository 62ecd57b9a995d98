"""Speeds are added to the result lines of finished runs."""

from __future__ import annotations

import json

import pytest

from benchmarks import models
from keras_slstm.models.sentence_classifier import SentenceClassifier


def test_every_run_gets_its_speed(tmp_path):
    lines = []
    for encoder, seed in (("lstm", 0), ("lstm", 1), ("cnn", 0)):
        folder = tmp_path / f"{encoder}{seed}"
        folder.mkdir()
        model = SentenceClassifier(["x", "y"], encoder, units=2, embedding_dim=2)
        model.adapt(["a b"])
        model.save(folder / "model.keras")
        run = {"data": "d", "encoder": encoder, "seed": seed, "fold": None, "command": "python x", "test_accuracy": 0.5}
        (folder / "results.json").write_text(json.dumps(run))
        lines.append({**run, "time": "now"})
    folders = [tmp_path / "lstm1", tmp_path / "cnn0"]
    speeds = models.measure(folders, ["a b", "b"], rounds=2)
    before = json.loads(json.dumps(lines))
    found = models.with_speeds(lines, speeds)
    assert found[0] == before[0]
    for line, old, folder in zip(found[1:], before[1:], folders, strict=True):
        assert line["texts_a_second"] == speeds[folder] > 0
        assert line["speed_conditions"]["cores"]
        assert line.items() >= old.items()
    with pytest.raises(ValueError, match="no line of the run"):
        models.with_speeds(before[:1], speeds)
