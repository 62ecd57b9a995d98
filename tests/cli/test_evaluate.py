"""Tests of `keras-slstm evaluate` and `keras-slstm predict`, for each kind of saved model."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import threading
import zipfile

import keras
import pytest

from keras_slstm.cli.main import main
from keras_slstm.cli.tasks import evaluate, reports
from keras_slstm.cli.tasks.saved import load_model
from keras_slstm.datasets.pair_corpus import Pairs
from keras_slstm.models import SentenceClassifier, SentencePairClassifier, Seq2Seq, SequenceTagger

pytest.importorskip("sklearn", reason="the report needs the `examples` extra")
pytest.importorskip("seqeval", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the plot needs the `plots` extra")

TINY = {"units": 8, "embedding_dim": 8}


def write(path, lines):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def pipe_in(monkeypatch, content):
    """Let standard input contain these bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), errors="surrogateescape"))


def pipe(path, content):
    """A named pipe from which one reader gets these bytes."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=[content], daemon=True).start()
    return path


def trained(model, path, *data):
    model.compile(keras.optimizers.Adam(0.05))
    model.fit(*data, epochs=12, verbose=0)
    model.save(path)
    return path


@pytest.fixture
def classifier(tmp_path):
    model = SentenceClassifier(["joy", "grief"], encoder="cnn", **TINY)
    texts, labels = ["good news", "bad news"] * 8, ["joy", "grief"] * 8
    model.adapt(texts)
    return trained(model, tmp_path / "model.keras", texts, labels)


def test_texts(classifier, command, tmp_path, capsys):
    data = write(tmp_path / "more.tsv", ["text\tlabel", "good\tjoy", "bad\tgrief", "good news\tgrief"])
    assert command(classifier, data, "--output", tmp_path / "tested") == 0
    assert "more.tsv accuracy 0.6667" in capsys.readouterr().out
    result = json.loads((tmp_path / "tested" / "results.json").read_text())
    assert result["test_accuracy"] == pytest.approx(2 / 3)
    assert result["command"] == "keras-slstm evaluate PATH PATH"
    rows = [line.split("\t") for line in (tmp_path / "tested" / "predictions.tsv").read_text().splitlines()]
    assert [row[:2] for row in rows[1:]] == [["joy", "joy"], ["grief", "grief"], ["grief", "joy"]]
    assert (tmp_path / "tested" / "confusion.png").exists()


def test_only_written_files_are_named_and_only_own_files_are_replaced(
    classifier, command, tmp_path, monkeypatch, capsys
):
    data = write(tmp_path / "more.tsv", ["text\tlabel", "good\tjoy"])
    folder = tmp_path / "tested"
    notes = write(folder / "notes.txt", ["mine"])
    given = [classifier, data, "--output", folder]
    assert command(*given) == 0
    assert f"Wrote confusion.png, predictions.tsv, results.json in {folder}\n" in capsys.readouterr().out
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    write(data, ["text\tlabel", "good\tboredom"])
    assert command(*given) == 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    write(data, ["text\tlabel", "bad\tjoy"])
    monkeypatch.setattr(reports, "draw_confusion", lambda *arguments: None)  # as for a model without a picture
    capsys.readouterr()
    assert command(*given) == 0
    assert f"Wrote predictions.tsv, results.json in {folder}\n" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {"notes.txt", "predictions.tsv", "results.json"}
    assert (folder / "predictions.tsv").read_bytes() != before["predictions.tsv"]
    assert notes.read_text(encoding="utf-8") == "mine\n"

    (folder / "results.json").write_text('{"command": "keras-slstm classify"}', encoding="utf-8")
    assert command(*given) == 2
    expected = f"--output: {folder / 'predictions.tsv'} exists and was not written by evaluate: choose another folder\n"
    assert capsys.readouterr().err == expected


def test_each_line_of_the_input_gets_a_line(classifier, tmp_path, monkeypatch, capsys):
    content = b"\xef\xbb\xbfgood news\n\n  \nbad news\r\n"  # as a spreadsheet saves it
    texts = tmp_path / "texts.txt"
    texts.write_bytes(content)
    assert main(["predict", str(classifier), "--file", str(texts)]) == 0
    out = capsys.readouterr().out
    assert [line.split("\t")[2] for line in out.splitlines()] == ["good news", "", "  ", "bad news"]
    pipe_in(monkeypatch, content)
    assert main(["predict", str(classifier)]) == 0
    assert capsys.readouterr().out == out
    assert main(["predict", str(classifier), "--file", str(pipe(tmp_path / "pipe", content))]) == 0
    assert capsys.readouterr().out == out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"good\nb\xff\n", "2: not UTF-8: byte 0xff at column 2. Save the file as UTF-8"),
        (b"\xff\xfeg\0", "1: the file is UTF-16: save it as UTF-8"),
        (b"", "1: the file is empty"),
    ],
)
def test_standard_input_is_read_like_a_file(content, message, classifier, tmp_path, monkeypatch, capsys):
    pipe_in(monkeypatch, content)
    assert main(["predict", str(classifier)]) == 2
    assert capsys.readouterr().err == f"standard input:{message}\n"
    path = tmp_path / "texts.txt"
    path.write_bytes(content)
    assert main(["predict", str(classifier), "--file", str(path)]) == 2
    assert capsys.readouterr().err == f"{path}:{message}\n"


def test_folders_and_pipes_are_named(classifier, command, tmp_path, capsys):
    fifo, file = tmp_path / "pipe", write(tmp_path / "a.en", ["one"])
    os.mkfifo(fifo)
    folder = "is a folder: pass a file"
    for data in (tmp_path, tmp_path / "folder.tsv"):
        data.mkdir(exist_ok=True)
        assert command(classifier, data) == 2
        assert capsys.readouterr().err == f"{data} {folder}, or the name of a data set\n"
    assert command(classifier, fifo) == 2
    assert capsys.readouterr().err == f"DATA: {fifo} is a pipe, but is read several times: write it to a file first\n"
    assert main(["predict", str(classifier), "--file", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"--file: {tmp_path} {folder}\n"
    for source, target, message in (
        (tmp_path, file, f"DATA: {tmp_path} {folder}"),
        (file, tmp_path, f"--target-file: {tmp_path} {folder}"),
        (file, fifo, f"--target-file: {fifo} is a pipe, but is read several times: write it to a file first"),
        (file, "nowhere.de", "--target-file: nowhere.de does not exist"),
    ):
        arguments = argparse.Namespace(data=str(source), target_file=str(target), on_error="raise")
        with pytest.raises((OSError, ValueError)) as raised:
            evaluate.evaluate_translations(arguments, None, None)
        assert str(raised.value) == message


def test_labels_that_the_model_does_not_know_and_other_wrong_input(classifier, command, tmp_path, capsys):
    data = write(tmp_path / "more.tsv", ["text\tlabel", "good\tjoy", "so so\tboredom"])
    assert command(classifier, data) == 2
    assert f'{data}:3: the label "boredom" is unknown; known labels: "joy", "grief".' in capsys.readouterr().err
    assert command(classifier, "travel_desk") == 2
    assert "travel_desk has the label 'book_car', which" in capsys.readouterr().err
    assert command(classifier, tmp_path / "nowhere.tsv") == 2
    assert command(classifier, data, "--target-file", data) == 2
    assert "--target-file needs a translation model" in capsys.readouterr().err
    write(tmp_path / "run" / "run.json", ["{}"])
    assert command(classifier, data, "--output", tmp_path / "run") == 2
    assert "is the folder of a training" in capsys.readouterr().err
    assert main(["predict", str(data), "a"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--beam", "3"], "--beam needs a translation model"),
        (["--length-penalty=0.5"], "--length-penalty needs a translation model"),
        (["--max-length", "9"], "--max-length needs a translation model"),
        (["--token-column", "0"], "--token-column does not apply to"),
        (["--part", "train"], "--part needs a data set"),
    ],
)
def test_options_of_other_models_are_refused(words, message, classifier, command, tmp_path, capsys):
    data = write(tmp_path / "more.tsv", ["text\tlabel", "good\tjoy"])
    assert command(classifier, data, *words) == 2
    assert message in capsys.readouterr().err
    if "translates" in message:
        assert main(["predict", str(classifier), "good", *words]) == 2
        assert message in capsys.readouterr().err


def test_pairs(command, tmp_path, capsys):
    model = SentencePairClassifier(["same", "other"], encoder="cnn", **TINY)
    pairs, labels = [("oslo", "oslo"), ("oslo", "rome")] * 8, ["same", "other"] * 8
    model.adapt(pairs)
    path = trained(model, tmp_path / "model.keras", pairs, labels)
    data = write(tmp_path / "pairs.tsv", ["text_a\ttext_b\tlabel", "oslo\toslo\tsame", "oslo\trome\tother"])
    assert command(path, data) == 0
    found = keras.saving.load_model(path).classify([("oslo", "oslo"), ("oslo", "rome")])
    accuracy = ((found[0] == "same") + (found[1] == "other")) / 2
    assert f"pairs.tsv accuracy {accuracy:.4f}" in capsys.readouterr().out
    write(data, ["text_a\ttext_b\tlabel", "oslo\toslo\tequal"])
    assert command(path, data) == 2
    assert capsys.readouterr().err == f'{data}:2: the label "equal" is unknown; known labels: "same", "other".\n'
    assert main(["predict", str(path), "oslo", "rome", "oslo"]) == 2
    assert "pass an even number of texts, not 3" in capsys.readouterr().err


def test_scores_of_pairs(command, tmp_path, monkeypatch, capsys):
    model = SentencePairClassifier(score_range=(1, 5), encoder="cnn", **TINY)
    pairs, scores = [("oslo", "oslo"), ("oslo", "rome")] * 8, [5.0, 1.0] * 8
    model.adapt(pairs)
    path = trained(model, tmp_path / "model.keras", pairs, scores)
    data = write(tmp_path / "pairs.tsv", ["text_a\ttext_b\tscore", "oslo\toslo\t5", "oslo\trome\t1"])
    assert command(path, data) == 0
    assert "pearson 1.0000" in capsys.readouterr().out
    part = Pairs([("oslo", "oslo")], ["same"])
    monkeypatch.setattr(evaluate, "load", lambda *arguments, **options: part)
    assert command(path, "a_data_set_with_labels") == 2
    assert "predicts scores, but a_data_set_with_labels has labels" in capsys.readouterr().err

    pipe_in(monkeypatch, "oslo\u2028now\toslo\n\noslo\trome\r\n".encode())
    with pytest.warns(UserWarning, match=r"^standard input: empty lines left out: 1\. The first: line 2$"):
        assert main(["predict", str(path)]) == 0
    assert len(capsys.readouterr().out.split("\n")[:-1]) == 2
    for content, line, found in (
        (b"oslo\n", 1, "'oslo'"),
        (b"a\tb\n\nb\t\n", 3, "'b\\t'"),
        (b"\n\n", 1, "only empty lines"),
    ):
        pipe_in(monkeypatch, content)
        assert main(["predict", str(path)]) == 2
        expected = f"standard input:{line}: expected two texts separated by a tab, found {found}\n"
        assert capsys.readouterr().err == expected


def test_tags(command, tmp_path, capsys):
    model = SequenceTagger(["O", "B-city", "I-city"], scheme="BIO", encoder="cnn", **TINY)
    sentences, tags = [["in", "oslo"], ["to", "rome"]] * 8, [["O", "B-city"]] * 16
    model.adapt(sentences)
    path = trained(model, tmp_path / "model.keras", sentences, tags)
    data = write(tmp_path / "news.conll", ["in O", "rome B-city", "", "to O", "oslo B-city", ""])
    assert command(path, data, "--output", tmp_path / "tested") == 0
    assert "news.conll F1 1.0000" in capsys.readouterr().out
    assert (tmp_path / "tested" / "predictions.tsv").read_text().splitlines()[1] == "1\tin\tO\tO"
    assert main(["predict", str(path), "in oslo"]) == 0
    assert capsys.readouterr().out.startswith("in [oslo: city ")
    lines = write(tmp_path / "lines.txt", ["in oslo", "", "to rome"])
    assert main(["predict", str(path), "--file", str(lines)]) == 0
    assert [line[:3] for line in capsys.readouterr().out.splitlines()] == ["in ", "", "to "]
    write(data, ["in O", "june B-month", ""])
    assert command(path, data) == 2
    assert f'{data}:2: the tag "B-month" is unknown; known tags: "O", "B-city", "I-city".' in capsys.readouterr().err


def test_translations(command, tmp_path, capsys):
    pytest.importorskip("sacrebleu", reason="BLEU needs the `translation` extra")
    pytest.importorskip("tokenizers", reason="subwords need the `translation` extra")
    model = Seq2Seq(cell="lstm", units=8, num_layers=1, embedding_dim=8, vectorizer={"max_tokens": 300})
    texts = ["one two", "two one"] * 4
    model.adapt(texts)
    path = trained(model, tmp_path / "model.keras", texts, texts)
    sources = write(tmp_path / "test.en", texts)
    assert command(path, sources, "--target-file", sources, "--output", tmp_path / "tested") == 0
    assert "test.en BLEU" in capsys.readouterr().out
    assert command(path, sources) == 2
    assert "pass their translations with --target-file" in capsys.readouterr().err
    assert len((tmp_path / "tested" / "translations.txt").read_text().splitlines()) == 8


@pytest.mark.parametrize("damaged", ["cut", "no archive", "no member", "wrong sum"])
def test_a_damaged_model_is_named(damaged, tmp_path):
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("other.txt" if damaged == "no member" else "config.json", "some text " * 9)
        file.writestr("metadata.json", "{}")
    whole = path.read_bytes()
    changed = {
        "cut": whole[:-30],
        "no archive": b"no archive",
        "wrong sum": whole.replace(b"some text", b"same text", 1),
    }
    path.write_bytes(changed.get(damaged, whole))
    with pytest.raises(ValueError, match=r"model\.keras is damaged, or is not a model that Keras saved \(\.keras\)"):
        load_model(str(path))
