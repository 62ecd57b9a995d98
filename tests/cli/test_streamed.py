"""Classifiers that train on files on disk: `keras-slstm classify --stream`."""

from __future__ import annotations

import json

import keras
import pytest

from keras_slstm.cli.main import main
from keras_slstm.streaming import prepared_corpus
from keras_slstm.training.checkpoints import Checkpoints
from tests.cli.command_checks import check_that_an_interrupted_training_resumes
from tests.cli.conftest import TINY

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the plot needs the `plots` extra")


@pytest.fixture
def command():
    return lambda *words: main(["classify", *map(str, words)])


def _write(path, rows):
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    return path


@pytest.fixture
def streamed(tmp_path):
    """Options of a training that streams its texts from disk."""
    pytest.importorskip("array_record", reason="streaming needs the `stream` extra")
    rows = [(f"{'good' if i % 2 else 'bad'} {'news ' * (i % 5)}from {i % 9}", "joy" if i % 2 else "grief")
            for i in range(120)]  # fmt: skip
    train, dev = _write(tmp_path / "train.tsv", rows), _write(tmp_path / "dev.tsv", rows[:20])
    test = _write(tmp_path / "test.tsv", rows[20:40])
    return ["--stream", "--data", train, "--dev-data", dev, "--test-data", test, "--output", tmp_path / "run", *TINY]


def test_texts_are_streamed_from_disk(streamed, tmp_path, command, capsys):
    assert command(*streamed, "--epochs", 3) == 0
    out = capsys.readouterr().out
    assert "120 / 20 / 20 texts for training / development / test, 2 labels" in out
    assert "Test accuracy 1.0000" in out
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    assert sum(count for count, _ in result["seconds_by_length"].values()) > 0
    prepared = tmp_path / "train-prepared" / "corpus.json"
    before = prepared.stat().st_mtime_ns
    assert command(*streamed, "--epochs", 1, "--overwrite") == 0
    assert prepared.stat().st_mtime_ns == before  # the files have not changed
    assert keras.saving.load_model(tmp_path / "run" / "model.keras").classify(["good news", "bad news"]) == [
        "joy",
        "grief",
    ]


def test_finished_runs_on_another_streamed_file_do_not_count(streamed, tmp_path, command, capsys):
    given = [*streamed, "--epochs", 1, "--seed", 0, 1]
    assert command(*given) == 0
    assert command(*given) == 0
    assert capsys.readouterr().out.count("already finished") == 2
    train = tmp_path / "train.tsv"
    train.write_text(train.read_text(encoding="utf-8").replace("from 3", "from 4"), encoding="utf-8")
    assert command(*given) == 2
    assert "contains the results of other data" in capsys.readouterr().err


def test_another_training_on_the_same_file_does_not_disturb_a_running_one(
    streamed, tmp_path, command, monkeypatch, capsys
):
    given = [*streamed, "--epochs", 2, "--seed", 0, 1]
    end_epoch = Checkpoints.on_epoch_end

    def train_another(self, epoch, logs=None):
        monkeypatch.undo()
        end_epoch(self, epoch, logs)
        assert command(*streamed, "--epochs", 1, "--cased", "--output", tmp_path / "other") == 0

    monkeypatch.setattr(Checkpoints, "on_epoch_end", train_another)
    monkeypatch.setattr(prepared_corpus, "OPEN_SHARDS", 0)  # an open shard could still be read after its deletion
    assert command(*given) == 0
    capsys.readouterr()
    assert command(*given) == 0  # prepares the texts again
    assert capsys.readouterr().out.count("already finished") == 2


def test_an_interrupted_streamed_training_resumes(streamed, command, monkeypatch, capsys):
    check_that_an_interrupted_training_resumes(command, streamed, monkeypatch, capsys)


def test_a_label_that_the_streamed_part_lacks(streamed, tmp_path, command, capsys):
    _write(tmp_path / "dev.tsv", [("good news", "joy"), ("no news", "envy")])
    assert command(*streamed, "--epochs", 1) == 2
    err = capsys.readouterr().err
    assert f"{tmp_path / 'dev.tsv'}:3" in err
    assert '"envy"' in err
