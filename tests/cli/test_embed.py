"""Tests of `keras-slstm embed`, on files that the tests write."""

from __future__ import annotations

import keras
import numpy as np
import pytest

pytest.importorskip("sklearn", reason="it comes with the `examples` extra")
pytest.importorskip("tensorflow_datasets")

from keras_slstm.cli.tasks import embed, match
from keras_slstm.datasets.builders import CR, Mrpc, Sick
from keras_slstm.models import ESIM, SentenceClassifier
from keras_slstm.training.results import read_results
from tests.cli.command_checks import check_that_training_resumes_within_an_epoch
from tests.datasets.builders.original_files import refuse_network, write

WORDS = ["oslo", "rome", "paris", "lima"]


@pytest.fixture
def files(monkeypatch, tmp_path):
    """Files of three tasks. CR: which of two cities is named. MRPC and SICK: whether both texts name the same city."""
    refuse_network(monkeypatch)
    monkeypatch.setattr(CR, "SENTENCES", 24)
    monkeypatch.setattr(Mrpc, "PAIRS", {"train": 24, "test": 12})
    monkeypatch.setattr(Sick, "PAIRS", {"train": 24, "validation": 12, "test": 12})
    folder = tmp_path / "manual"
    write(folder / "custrev.neg", [f"to oslo {i % 5}" for i in range(12)])
    write(folder / "custrev.pos", [f"to rome {i % 5}" for i in range(12)])
    pairs = [(WORDS[i % 4], WORDS[(i + i % 2) % 4], i % 2 == 0) for i in range(24)]
    for part, count in (("train", 24), ("test", 12)):
        lines = [f"{int(same)}\t1\t2\tto {one}\tfrom {other}" for one, other, same in pairs[:count]]
        write(folder / f"msr_paraphrase_{part}.txt", ["header", *lines])
    for part, count in (("train", 24), ("trial", 12), ("test_annotated", 12)):
        found = [("4.5", "ENTAILMENT") if same else ("1.5", "NEUTRAL") for *_, same in pairs[:count]]
        lines = ["\t".join(("1", f"to {one}", f"from {other}", *y)) for (one, other, _), y in zip(pairs, found)]
        write(folder / f"SICK_{part}.txt", ["header", *lines])
    return ["--manual-dir", folder, "--data-dir", tmp_path / "tfds", "--folds", 3]


def save_model(path, kind=SentenceClassifier):
    """Save a model whose vectors distinguish the cities."""
    model = kind(["no", "yes"], "cnn" if kind is SentenceClassifier else "bilstm", units=8, embedding_dim=8)
    model.adapt(WORDS if kind is SentenceClassifier else [(word, word) for word in WORDS])
    path.parent.mkdir(parents=True)
    model.save(path)
    return path


def test_evaluates_a_saved_model_task_by_task(files, tmp_path, command, capsys, monkeypatch):
    path = save_model(tmp_path / "runs" / "one" / "model.keras")
    options = ["--model", path, *files]
    assert command(*options, "--tasks", "CR", "MRPC") == 0
    results = read_results(tmp_path / "runs" / "results.jsonl")
    assert [(one["transfer"]["task"], one["data"]) for one in results] == [("CR", "cr"), ("MRPC", "mrpc")]
    assert results[0]["accuracy"] == 1  # one word decides
    assert results[0]["encoder"].startswith("layer_stack")  # there is no better name
    assert set(results[1]) >= {"accuracy", "f1", "development", "features", "seconds_to_fit", "conditions", "commit"}
    assert results[0]["command"] == "keras-slstm embed --model PATH --tasks CR MRPC --folds 3 --manual-dir PATH"
    table = capsys.readouterr().out.partition("development")[2].splitlines()
    assert table[1].split()[:3] == ["CR", "cr", "24"]
    assert f"F1 {100 * results[1]['f1']:.2f}" in table[2]

    # Finished tasks are not repeated; missing ones are skipped with a message.
    calls = []
    evaluate = embed.evaluate
    monkeypatch.setattr(embed, "evaluate", lambda *args: calls.append(args[1].task.name) or evaluate(*args))
    assert command(*options) == 0
    assert calls == ["SICK-R", "SICK-E"]
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if "already finished" in line] == ["CR", "MRPC"]
    (line,) = (line for line in out.splitlines() if line.startswith("MPQA "))
    assert "skipped: The files of mpqa are not in `manual_dir`" in line
    assert out.endswith("Skipped, because their files are missing: MR, SUBJ, MPQA, SST, TREC, STS-B\n")
    results = read_results(tmp_path / "runs" / "results.jsonl")
    assert [one["transfer"]["task"] for one in results] == ["CR", "MRPC", "SICK-R", "SICK-E"]
    assert f"{results[2]['pearson']:.4f}   Spearman {results[2]['spearman']:.4f}" in out

    # Other settings, another model or `--overwrite` start another evaluation.
    calls.clear()
    for more in (["--task-limit", 18], ["--seed", 1], ["--overwrite"], []):
        assert command(*options, "--tasks", "CR", *more) == 0
    assert calls == ["CR"] * 3
    assert read_results(tmp_path / "runs" / "results.jsonl")[4]["sizes"] == {"train": 18}


def test_an_interrupted_evaluation_resumes(files, tmp_path, command, capsys, monkeypatch):
    path = save_model(tmp_path / "runs" / "one" / "model.keras")
    options = ["--model", path, "--tasks", "CR", "MRPC", *files]
    load_task = embed.load_task

    def stop(name, *rest):
        if name == "MRPC":
            raise KeyboardInterrupt
        return load_task(name, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(embed, "load_task", stop)
        assert command(*options) == 130
    assert "continues where this one stopped" in capsys.readouterr().err
    assert command(*options) == 0
    assert "CR      already finished" in capsys.readouterr().out


def test_trains_first_without_a_model(files, tmp_path, command, monkeypatch, capsys):
    def stop(*arguments):
        raise KeyboardInterrupt

    generator = np.random.default_rng(0)
    rows = [(*generator.choice(WORDS, 2), i) for i in range(40)]
    lines = [f"{'same' if one == other else 'other'}\tto {one}\tfrom {other} {i % 7}" for one, other, i in rows]
    data = write(tmp_path / "pairs.tsv", ["label\ttext_a\ttext_b", *lines])
    folder = tmp_path / "runs" / "mine"
    options = ["--data", data, "--encoder", "cnn", "--units", 8, "--embedding-dim", 8, "--mlp-units", 4, "--epochs", 1,
               "--output", folder, "--tasks", "CR", *files]  # fmt: skip
    with monkeypatch.context() as patched:
        patched.setattr(match, "finish", stop)  # the trained model is saved, but not its results
        assert command(*options) == 130
    assert (folder / "model.keras").exists()
    assert command(*options) == 0
    out = capsys.readouterr().out
    assert "32 / 4 / 4 pairs (inference) for training" in out
    assert "development" in out
    training, transfer = read_results(tmp_path / "runs" / "results.jsonl")
    assert training["settings"]["model"] == "infersent"
    assert "--architecture infersent" in training["command"]
    assert (transfer["transfer"]["task"], transfer["features"]) == ("CR", 8)
    assert transfer["encoder"] == training["encoder"] == "cnn + infersent"
    assert keras.saving.load_model(folder / "model.keras").mlp_activation == "linear"

    assert command(*options) == 0  # neither is repeated
    out = capsys.readouterr().out
    assert "already contains the model" in out
    assert "CR      already finished" in out
    assert command(*options, "--units", 4) == 2
    assert "contains the results of another command" in capsys.readouterr().err
    assert command(*options, "--seed", 1) == 2
    assert "of seed 0" in capsys.readouterr().err
    write(tmp_path / "pairs.tsv", ["label\ttext_a\ttext_b", *lines[::-1]])
    assert command(*options) == 2
    assert "contains the results of other data" in capsys.readouterr().err


def test_words_of_the_tasks_have_their_vectors(files, tmp_path, command, capsys):
    """This includes words that the training split lacks."""
    folder = tmp_path / "manual"
    write(folder / "custrev.neg", [f"to reykjavik {i % 5}" for i in range(12)])
    data = write(tmp_path / "pairs.tsv", ["label\ttext_a\ttext_b", *(f"{i % 2}\ta {i % 2}\tb" for i in range(40))])
    vectors = write(tmp_path / "one.txt", [f"{word} 1 2 3" for word in ("a", "reykjavik", "nowhere")])
    options = ["--data", data, "--vectors", vectors, "--encoder", "cnn", "--units", 4, "--mlp-units", 4, "--epochs", 1,
               "--output", tmp_path / "runs" / "mine", "--tasks", "CR", *files]  # fmt: skip
    assert command(*options) == 0
    vocabulary = keras.saving.load_model(tmp_path / "runs" / "mine" / "model.keras").vectorizer.vocabulary
    assert "reykjavik" in vocabulary
    assert "nowhere" not in vocabulary
    capsys.readouterr()
    vectors.rename(tmp_path / "other.txt")
    options[options.index(vectors)] = tmp_path / "other.txt"
    assert command(*options) == 2
    assert "vectors one.txt" in capsys.readouterr().err


def test_a_failing_task_is_named_and_the_others_run(files, tmp_path, command, capsys, monkeypatch):
    path = save_model(tmp_path / "runs" / "one" / "model.keras")
    evaluate = embed.evaluate

    def failing(encode, data, *args):
        if data.task.name == "CR":
            raise ValueError("no such label")
        return evaluate(encode, data, *args)

    monkeypatch.setattr(embed, "evaluate", failing)
    assert command("--model", path, *files, "--tasks", "CR", "MRPC") == 2
    assert [one["transfer"]["task"] for one in read_results(tmp_path / "runs" / "results.jsonl")] == ["MRPC"]
    error = capsys.readouterr().err
    assert "CR      failed: no such label" in error
    assert "These tasks failed: CR" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nowhere.keras"], "nowhere.keras"),
        (["--architecture", "esim"], "it compares words"),
        (["--tasks", "MRX"], "invalid choice: 'MRX'"),
        (["--folds", "1"], "argument --folds: expected an integer of at least 2, but got 1"),
        (["--task-limit", "0"], "argument --task-limit: expected an integer of at least 1, but got 0"),
        (["--seed", "0", "1"], "one --seed"),
        (["--data", "nowhere.tsv"], "nowhere.tsv"),
        (["--model", "m.keras", "--file", ".", "--write", "v.npy"], "--file: . is a folder: pass a file"),
    ],
)
def test_bad_usage(arguments, message, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(*arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    ["--data=nowhere.tsv", "--vectors=nowhere.txt", "--encoder=slstm", "--epochs=7", "--output=x", "--no-jit-compile"],
)
def test_options_of_training_are_refused_with_a_trained_model(option, command, capsys):
    name = option.partition("=")[0]
    assert command("--model", "m.keras", "--tasks", "MR", "--seed", 1, option) == 2
    expected = f"{name} is for training, but --model is trained already: remove one of them\n"
    assert capsys.readouterr().err == expected
    assert command("--model", "m.keras", "--file", "a.txt", "--write", "v.npy", option) == 2
    assert capsys.readouterr().err == f"{name} has no effect with --write, which only reads a model: remove it\n"


@pytest.mark.parametrize("option", ["--tasks=MR", "--folds=3", "--classifier=mlp", "--manual-dir=there", "--overwrite"])
def test_options_of_the_tasks_are_refused_when_vectors_are_written(option, command, capsys):
    assert command("--model", "m.keras", "--file", "a.txt", "--write", "v.npy", option) == 2
    expected = f"{option.partition('=')[0]} has no effect with --write, which only reads a model: remove it\n"
    assert capsys.readouterr().err == expected


def test_no_task_at_all_and_a_model_without_vectors(files, command, tmp_path, capsys):
    path = save_model(tmp_path / "runs" / "one" / "model.keras")
    assert command("--model", path, "--tasks", "MPQA", *files) == 2
    assert "No task has its files" in capsys.readouterr().err
    path = save_model(tmp_path / "runs" / "two" / "model.keras", ESIM)
    assert command("--model", path, "--tasks", "CR", *files) == 2
    assert "got a ESIM" in capsys.readouterr().err


def test_writes_vectors(tmp_path, command, capsys):
    path = save_model(tmp_path / "runs" / "one" / "model.keras")
    texts = write(tmp_path / "texts.txt", ["to oslo", "to rome now", "to oslo"])
    assert command("--model", path, "--file", texts, "--write", tmp_path / "vectors.npy") == 0
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors.shape == (3, 8)
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3
    assert "3 vectors of size 8" in capsys.readouterr().out
    texts.write_text("to oslo\n\nto rome\n", encoding="utf-8")
    assert command("--model", path, "--file", texts, "--write", tmp_path / "vectors.npy") == 2
    assert f"{texts}:2: expected a text" in capsys.readouterr().err
    assert command("--file", texts) == 2
    assert "use --file and --write together" in capsys.readouterr().err


@pytest.mark.backends("torch")
def test_training_resumes_within_an_epoch(files, tmp_path, command, monkeypatch, capsys):
    data = write(tmp_path / "pairs.tsv", ["label\ttext_a\ttext_b", *(f"{i % 2}\ta {i % 2}\tb" for i in range(40))])
    options = ["--data", data, "--encoder", "cnn", "--units", 8, "--embedding-dim", 8, "--mlp-units", 4,
               "--batch-size", 8, "--tasks", "CR", *files]  # fmt: skip
    check_that_training_resumes_within_an_epoch(command, options, tmp_path / "runs" / "mine", monkeypatch, capsys)
