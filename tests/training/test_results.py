import json
import subprocess

import keras
import numpy as np
import pytest

from keras_slstm.errors import DataError
from keras_slstm.text import TextBatches
from keras_slstm.training import results


def test_lines_are_appended_with_their_circumstances(tmp_path):
    path = tmp_path / "new" / "results.jsonl"
    results.append_result(path, {"test_accuracy": 0.5, "data": "mots d'été"})
    results.append_result(path, {"test_accuracy": 0.75})
    first, second = results.read_results(path)
    assert (first["test_accuracy"], first["data"], second["test_accuracy"]) == (0.5, "mots d'été", 0.75)
    assert first["conditions"]["backend"] == keras.backend.backend()
    assert first["conditions"]["versions"]["keras"] == keras.__version__


def test_half_a_line_is_found_and_not_continued(tmp_path):
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
    git("add", "results.py")
    git("commit", "-q", "-m", "first")
    assert results.commit() == git("rev-parse", "HEAD")[:12]
    path.write_text("2\n")
    assert results.commit() == git("rev-parse", "HEAD")[:12] + "+"


def test_right_by_length():
    assert results.right_by_length([3, 2, 3, 3], [True, False, False, True]) == {"2": [1, 0], "3": [3, 2]}


def test_mean_and_spread():
    assert results.mean_and_spread([1.0]) == (1.0, 0.0)
    assert results.mean_and_spread([1.0, 2.0, 3.0]) == (2.0, 1.0)


def test_stopwatch_counts_every_sentence_but_those_of_a_first_batch():
    ids = [[2] * n for n in (3, 3, 3, 3, 3, 6, 6, 6)]
    batches = TextBatches(ids, labels=[0] * 8, batch_size=2, multiple_of=3)
    model = keras.Sequential([keras.layers.Embedding(3, 2), keras.layers.GlobalMaxPooling1D(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    stopwatch = results.Stopwatch(batches)
    assert stopwatch.seconds_per_epoch is None
    callbacks = [stopwatch, batches.follow_epochs()]
    model.fit(batches, epochs=3, callbacks=callbacks, shuffle=False, verbose=0)
    by_length = stopwatch.seconds_by_length
    lengths = [batches.shape_of(i) for i in range(len(batches))]
    assert sorted(lengths) == [(2, 3), (2, 3), (2, 6), (2, 6)]  # one short sentence shares a batch with a long one
    assert {length: count for length, (count, _) in by_length.items()} == {"3": 3 * 4 - 2, "6": 3 * 4 - 2}
    assert stopwatch.seconds_per_epoch > 0
    total = sum(seconds for _, seconds in by_length.values())
    assert 0 < total < sum(stopwatch._epochs) + 1e-9
    assert np.isfinite(total)
