"""Tests of `keras-slstm translate`."""

import json
from pathlib import Path

import keras
import pytest

from keras_slstm.cli.main import main, parse
from keras_slstm.cli.presets import load_presets
from keras_slstm.cli.tasks.jobs import Job
from keras_slstm.cli.tasks.translate import build_model, choose, make_model
from keras_slstm.datasets import load_parallel_corpus
from keras_slstm.layers.attention_decoder import CONTEXT_GAIN
from keras_slstm.models.seq2seq import SUBWORD_SPREAD
from keras_slstm.training.results import read_results
from tests.cli.command_checks import (
    check_that_an_interrupted_training_resumes,
    check_that_training_resumes_within_an_epoch,
)

pytest.importorskip("tokenizers", reason="subwords need the `translation` extra")
pytest.importorskip("sacrebleu", reason="BLEU needs the `translation` extra")

TINY = ["--units", 6, "--embedding-dim", 6, "--subwords", 270, "--num-layers", 1, "--epochs", 1, "--batch-size", 30]
TINY += ["--beam", 2, "--max-length", 12]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "a.en").write_text("".join(f"{'no ' * (i % 3)}yes\n" for i in range(30)), encoding="utf-8")
    (folder / "a.de").write_text("".join(f"{'nein ' * (i % 3)}ja\n" for i in range(30)), encoding="utf-8")
    return ["--source-file", folder / "a.en", "--target-file", folder / "a.de"]


def test_without_decay_the_learning_rate_falls_over_all_epochs(data):
    arguments = parse("translate", [str(word) for word in [*data, *TINY, "--decay", 0, "--epochs", 4]])
    corpus = load_parallel_corpus((data[1], data[3]))
    settings, _ = choose(arguments, Job(corpus, None, "", 0, Path("run")))
    model, batches = build_model(settings, corpus.train, arguments.epochs)
    model.optimizer.build(model.trainable_variables)
    model.optimizer.iterations.assign(len(batches))
    assert float(model.optimizer.learning_rate) == pytest.approx(0.75 * settings["learning_rate"])


def test_trains_reports_saves_and_translates(data, tmp_path, command, capsys):
    folder = tmp_path / "run"
    given = [*data, "--output", folder, *TINY]
    assert command(*given) == 0
    out = capsys.readouterr().out
    assert "24 / 3 / 3 pairs for training / development / test" in out
    assert "Test BLEU" in out
    assert "\b" not in out  # no cursor movement outside a terminal
    assert {path.name for path in folder.iterdir()} == {
        "model.keras", "translations.txt", "predictions.tsv", "learning_curve.png", "results.json", "settings.json",
        "progress.json", "run.json",
    }  # fmt: skip
    assert len((folder / "translations.txt").read_text(encoding="utf-8").split("\n")) == 3 + 1
    (line,) = read_results(tmp_path / "results.jsonl")
    assert line["command"] == (
        "keras-slstm translate --source-file PATH --target-file PATH --units 6 --num-layers 1 "
        "--embedding-dim 6 --subwords 270 --batch-size 30 --epochs 1 --beam 2 --max-length 12"
    )
    assert {"bleu", "exact", "signature"} == set(line["test"])
    assert line["history"]["val_bleu"]

    lines = folder / "lines.txt"
    lines.write_text("no yes\n", encoding="utf-8")
    options = ["--beam", 2, "--max-length", 4]
    assert main(["predict", folder / "model.keras", "yes", "--file", lines, *options]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [text for _, _, text in rows] == ["yes", "no yes"]
    assert all(float(score) < 0 for _, score, _ in rows)

    assert command(*given) == 2  # a finished run is not overwritten
    assert "finished run" in capsys.readouterr().err


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="one backend is enough")
def test_an_interrupted_training_resumes(data, tmp_path, command, monkeypatch, capsys):
    options = [*data, "--output", tmp_path, *TINY]
    check_that_an_interrupted_training_resumes(command, options, monkeypatch, capsys)


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="one backend is enough")
def test_training_resumes_within_an_epoch(data, tmp_path, command, monkeypatch, capsys):
    options = [*data, *TINY, "--batch-size", 8]
    check_that_training_resumes_within_an_epoch(command, options, tmp_path / "run", monkeypatch, capsys)


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="one backend is enough")
def test_seeds_and_equal_parameters(data, tmp_path, command, capsys):
    """Each seed has a training, a table follows, and nothing is trained twice; the width gives equal size."""
    given = [*data, "--output", tmp_path / "runs", "--seed", 0, 1, *TINY, "--num-layers", 2, "--units", 12]
    given += ["--equal-parameters", "--no-bidirectional", "--longest", 9]
    assert command(*given) == 0
    out = capsys.readouterr().out
    assert "test BLEU" in out
    lines = read_results(tmp_path / "results.jsonl")
    assert [line["seed"] for line in lines] == [0, 1]
    plain = [*data, "--output", tmp_path / "plain", *TINY, "--num-layers", 2, "--units", 12]
    assert command(*plain, "--cell", "lstm", "--no-bidirectional", "--max-length", 1) == 0
    vectorizer = keras.saving.load_model(tmp_path / "plain" / "model.keras").vectorizer
    written = (tmp_path / "plain" / "translations.txt").read_text(encoding="utf-8").splitlines()
    one_subword = vectorizer.decode([[i] for i in range(vectorizer.vocabulary_size)])
    assert set(written) <= {"", *one_subword}
    wanted = json.loads((tmp_path / "plain" / "results.json").read_text())["parameters"]
    assert lines[0]["units"] < 12
    assert abs(lines[0]["parameters"] - wanted) < 0.05 * wanted
    capsys.readouterr()
    assert command(*given) == 0
    assert capsys.readouterr().out.count("already finished") == 2


def test_the_width_of_the_first_subword_vectors_and_of_the_context():
    """The presets start like the model; the options override it."""
    presets = load_presets("translate")
    for preset in presets.values():
        assert preset["embedding_stddev"] == SUBWORD_SPREAD
        assert preset["context_gain"] == CONTEXT_GAIN
    further = {"cell": "lstm", "cell_options": {}, "bidirectional": False, "dtype": "float32", "seed": 0}
    model = make_model({**presets["paper"], **further, "units": 6, "embedding_stddev": 0.25, "context_gain": 1.0})
    assert model.embeddings_initializer.get_config()["stddev"] == 0.25
    assert model.context_gain == 1.0


def test_a_malformed_file_is_named_with_its_line(tmp_path, command, capsys):
    (tmp_path / "a.en").write_text("one\n\nthree\n")
    (tmp_path / "a.de").write_text("eins\nzwei\ndrei\n")
    files = ["--source-file", tmp_path / "a.en", "--target-file", tmp_path / "a.de"]
    assert command(*files, "--output", tmp_path / "run") == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'a.en'}:2: ")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source-file", "a.en"], "--source-file and --target-file must be used together"),
        (["--test-source", "a", "--test-target", "b"], "--test-source needs --source-file"),
        (["--source-file", "nowhere.en", "--target-file", "nowhere.de"], "nowhere.en"),
        (["--source-file", ".", "--target-file", "a.en"], "--source-file: . is a folder: pass a file"),
        (["--dataset", "office_notes/to_letters"], "to_letters"),
        (["--source-language", "fr"], '"fr"'),
        (["--beam", "0"], "--beam: expected an integer of at least 1"),
        (["--source-file", "a.en", "--target-file", "a.en", "--dataset", "ted"], "not both"),
        (["--source-file", "a.en", "--target-file", "a.en", "--source-language", "fr"], "--source-language needs"),
        (["--units", "0"], "units"),
        (["--longest", "1"], "--longest"),
        (["--subwords", "258"], "--subwords: expected an integer of at least 259, but got 258"),
        (["--cell-option", "speed=3"], "speed"),
    ],
)
def test_bad_usage(arguments, message, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.en").write_text("one\n", encoding="utf-8")
    assert command(*arguments) == 2
    assert message in capsys.readouterr().err
