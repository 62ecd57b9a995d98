"""Runs of `keras-slstm classify`: interrupted ones, and several in one command."""

import json
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_slstm.cli.main import main, parse
from keras_slstm.cli.tasks import reports
from keras_slstm.cli.tasks.jobs import plan_jobs
from keras_slstm.cli.training_options import short_name
from keras_slstm.datasets import load_folds
from keras_slstm.files import write_json
from keras_slstm.training.results import read_results
from keras_slstm.training.training_run import TrainingRun
from tests.cli.command_checks import check_that_an_interrupted_training_resumes
from tests.cli.conftest import TINY
from tests.processes import run_python

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the plot needs the `plots` extra")


@pytest.fixture
def command():
    return lambda *words: main(["classify", *map(str, words)])


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="tests/training covers the other backends")
def test_an_interrupted_training_resumes(mails, tmp_path, command, monkeypatch, capsys):
    options = ["--data", mails, "--output", tmp_path, *TINY]
    check_that_an_interrupted_training_resumes(command, options, monkeypatch, capsys)


def test_odd_labels_a_failing_plot_or_a_kill_lose_no_results(tmp_path, command, monkeypatch, capsys):
    """Labels with line breaks and formula characters, a kill after the result line, and a plot that fails."""
    labels = ["$\\frac{x$", "two\nlines", "accuracy", "\x1b[31mred"]
    lines = [json.dumps({"text": f"word{i % 4} number {i % 9}", "label": labels[i % 4]}) for i in range(80)]
    (tmp_path / "odd.jsonl").write_text("\n".join(lines))
    folder = tmp_path / "run"
    options = ["--data", tmp_path / "odd.jsonl", "--output", folder, "--epochs", 1, *TINY]

    def killed(run):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(TrainingRun, "finish", killed)
        assert command(*options) == 130
    assert (folder / "model.keras").exists()
    (line,) = read_results(tmp_path / "results.jsonl")
    assert set(line["test_labels"]) == set(labels)
    table = capsys.readouterr().out.partition("support\n")[2].splitlines()
    assert {row.split()[0] for row in table[1:5]} == {"$\\frac{x$", "\\x1b[31mred", "accuracy", "two\\nlines"}

    def fails(*arguments):
        raise RuntimeError("no\nfonts")

    (folder / "confusion.png").unlink()

    with monkeypatch.context() as patched:
        patched.setitem(vars(reports), "confusion_matrix", fails)
        assert command(*options) == 0
    captured = capsys.readouterr()
    assert f"{folder / 'confusion.png'} could not be drawn: no fonts" in captured.err
    assert "after epoch 1" in captured.out
    assert read_results(tmp_path / "results.jsonl") == [line]
    assert not (folder / "confusion.png").exists()
    assert not [path for path in folder.iterdir() if path.suffix == ".h5"]
    assert command(*options) == 2
    assert "finished run" in capsys.readouterr().err
    assert command(*options, "--overwrite") == 0
    assert (folder / "confusion.png").exists()
    assert len(read_results(tmp_path / "results.jsonl")) == 2


@pytest.mark.parametrize("change", ["train", "vocabulary"])
def test_an_interrupted_training_does_not_resume_with_other_data(change, mails, tmp_path, command, monkeypatch, capsys):
    """This includes a test split with other words: the embedding would have other rows."""
    vectors, test = tmp_path / "tiny.txt", tmp_path / "test.tsv"
    vectors.write_text("".join(f"{word} {' '.join(map(str, range(8)))}\n" for word in ("good", "bad", "unseen")))
    test.write_text("text\tlabel\ngood news\tjoy\n")
    copy = tmp_path / "train.tsv"
    copy.write_bytes(mails.read_bytes())
    options = ["--data", copy, "--test-data", test, "--vectors", vectors, "--output", tmp_path / "run", *TINY]

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "predict", interrupted)  # after the last epoch
        assert command(*options, "--epochs", 1) == 130
    with (copy if change == "train" else test).open("a") as file:
        file.write("unseen news\tjoy\n")
    capsys.readouterr()
    assert command(*options, "--epochs", 1) == 2
    assert "contains an interrupted run with data=" in capsys.readouterr().err


@pytest.mark.short_run
def test_a_run_in_updates_does_not_resume_in_epochs(mails, tmp_path, command, monkeypatch, capsys):
    """Its epochs go through the few texts several times, so `updates` in the results would be wrong."""
    options = ["--data", mails, "--output", tmp_path / "run", "--batch-size", "32", *TINY]
    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "predict", lambda *args, **kwargs: (_ for _ in ()).throw(KeyboardInterrupt))
        assert command(*options, "--updates", 100) == 130
    capsys.readouterr()
    assert command(*options, "--updates", 100, "--epochs", 4) == 2
    assert "contains an interrupted run with --epochs=None, not 'given'" in capsys.readouterr().err
    assert command(*options, "--updates", 100) == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert (results["epochs"], results["updates"]) == (2, 102)  # an epoch is 17 passes through three batches


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="MultiWorkerMirroredStrategy is TensorFlow's")
@pytest.mark.ci_run
@pytest.mark.xdist_group("two_processes")
def test_workers_train_together_and_one_prints(mails, tmp_path):
    options = ["--data", mails, "--output", tmp_path / "run", "--epochs", 2, *TINY]
    done = run_python("-m", "keras_slstm", "classify", "--workers", 2, *options, limit=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Test accuracy") == 1
    assert "Traceback" not in done.stderr
    found = main(["predict", str(tmp_path / "run" / "model.keras"), "good news"])
    assert found == 0
    assert json.loads((tmp_path / "run" / "results.json").read_text())["epochs"] == 2


@pytest.mark.short_run
def test_folds_seeds_and_vectors(mails, tmp_path, command, capsys):
    """Each fold and seed has a training with a result line, a table follows, and nothing is trained twice."""
    vectors = tmp_path / "tiny.txt"
    vectors.write_text("".join(f"{word} {' '.join(map(str, range(8)))}\n" for word in ("good", "bad", "unused")))
    options = ["--data", mails, "--output", tmp_path / "runs", "--folds", 2, "--seed", 0, 1, "--epochs", 1, *TINY]
    options += ["--vectors", vectors, "--fixed-vectors"]
    assert command(*options) == 0
    out = capsys.readouterr().out
    assert "word types have a vector" in out
    assert "mails.tsv" in out.split("development")[-1]
    lines = read_results(tmp_path / "results.jsonl")
    assert [(line["fold"], line["seed"]) for line in lines] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert {line["vectors"] for line in lines} == {"tiny.txt"}
    assert {line["split"]["sizes"][2] for line in lines} == {60}
    for number, fold in enumerate(load_folds(mails, 2), start=1):
        table = (tmp_path / "runs" / f"mails-fold{number}-seed0" / "predictions.tsv").read_text(encoding="utf-8")
        assert [row.split("\t")[-1] for row in table.splitlines()[1:]] == fold.test.texts
    for line in lines:
        assert line["command"] == (
            "keras-slstm classify --data PATH --folds 2 --vectors PATH --fixed-vectors --encoder bilstm "
            "--units 8 --embedding-dim 8 --dropout 0.0 --learning-rate 0.02 --epochs 1"
        )
        assert sum(count for count, _ in line["right_by_length"].values()) == 60
        assert sum(right for _, right in line["right_by_length"].values()) == round(60 * line["test_accuracy"])
        assert line["seconds_per_epoch"] > 0
    assert command(*options, "--fold", 2) == 0
    out = capsys.readouterr().out
    assert out.count("already finished") == out.count("--- mails-fold2-seed") == 2
    assert "fold1" not in out
    assert command(*options) == 0
    assert capsys.readouterr().out.count("already finished") == 4
    assert command(*options, "--units", 4) == 2  # the settings differ
    assert "contains the results of another command" in capsys.readouterr().err
    assert len(read_results(tmp_path / "results.jsonl")) == 4
    assert command(*options, "--embedding-dim", 4) == 2
    assert "--embedding-dim must be the size of --vectors, 8, but is 4" in capsys.readouterr().err

    model = keras.saving.load_model(tmp_path / "runs" / "mails-fold1-seed0" / "model.keras")
    known = model.vectorizer.vocabulary.index("good")
    np.testing.assert_array_equal(model.embedding.get_weights()[0][known], range(8))  # fixed, so not changed


def test_folds_trained_one_by_one_fill_one_table(mails, tmp_path, command, capsys):
    options = ["--data", mails, "--output", tmp_path / "runs", "--folds", 2, "--epochs", 1, *TINY]
    assert command(*options, "--fold", 2) == 0
    assert command(*options, "--fold", 1) == 0
    assert "already finished" not in capsys.readouterr().out
    assert command(*options) == 0
    assert capsys.readouterr().out.count("already finished") == 2
    assert command(*options, "--fold", 1) == 0
    assert capsys.readouterr().out.count("already finished") == 1
    assert [line["fold"] for line in read_results(tmp_path / "results.jsonl")] == [2, 1]


def test_finished_runs_on_other_data_or_another_backend_do_not_count(mails, tmp_path, command, capsys):
    train, test = tmp_path / "mails.tsv", tmp_path / "test.tsv"
    lines = mails.read_text(encoding="utf-8").splitlines(keepends=True)
    train.write_text("".join(lines), encoding="utf-8")
    test.write_text("".join(lines[:11]), encoding="utf-8")
    given = ["--data", train, "--test-data", test, "--output", tmp_path / "runs", "--epochs", 1, *TINY]
    options = [*given, "--seed", 0, 1]
    assert command(*options) == 0
    test.write_text("".join([lines[0], *lines[2:12]]), encoding="utf-8")
    assert command(*options) == 2
    expected = "mails-seed0 contains the results of other data (mails.tsv with 108 / 12 / 10 examples), or its files"
    assert expected in capsys.readouterr().err
    test.write_text("".join(lines[:11]), encoding="utf-8")
    train.write_text("".join(lines).replace("from number 3", "from number 4"), encoding="utf-8")
    assert command(*given, "--seed", 2, 0) == 2  # before the run with seed 2
    assert "contains the results of other data" in capsys.readouterr().err
    assert not (tmp_path / "runs" / "mails-seed2").exists()
    train.write_text("".join(lines), encoding="utf-8")

    path = tmp_path / "runs" / "mails-seed0" / "results.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))
    write_json(path, {**recorded, "settings": {**recorded["settings"], "backend": "mxnet"}})
    assert command(*options) == 2
    assert "contains the results of another backend (mxnet, not" in capsys.readouterr().err

    del recorded["data_fingerprint"]  # as earlier versions wrote it
    write_json(path, recorded)
    assert command(*options) == 0
    out = capsys.readouterr().out
    assert out.count("already finished\n") == 1
    assert out.count("already finished (by an earlier version: only the name") == 1
    test.write_text("".join(lines[:12]), encoding="utf-8")
    assert command(*options) == 2
    assert "with 108 / 12 / 10 examples" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "names", "message"),
    [
        (["--seed", "1", "0", "1"], ["a"], "--seed names 1 more than once: name each value once"),
        (["--variants", "x=1", "x=1"], ["a"], "--variants names x=1 more than once"),
        (["--variants", "x=1,y=2", "x=1_y=2"], ["a"], "--variants: x=1,y=2 and x=1_y=2 would have the same folder"),
        ([], ["a", "b", "a"], "--dataset names a more than once"),
    ],
)
def test_two_runs_have_two_folders(options, names, message):
    arguments = parse("classify", [*options, "--output", "runs"])
    with pytest.raises(ValueError, match=message):
        plan_jobs(arguments, [(SimpleNamespace(name=name), None) for name in names])


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("data/mails.2023.tsv", "mails.2023"),
        ("mails.2023", "mails.2023"),
        ("a.b/mails.jsonl.gz", "mails"),
        ("train.conllu.zst", "train"),
        ("eng.train", "eng.train"),
        (".tsv", ".tsv"),
        ("glue/sst2", "glue-sst2"),
        ("glue/sst2:2.0.0", "sst2-2.0.0"),
    ],
)
def test_the_short_names_of_different_files_differ(name, short):
    assert short_name(name) == short
