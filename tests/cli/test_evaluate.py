"""Tests of `keras-slstm evaluate`, for each kind of saved model."""

from __future__ import annotations

import io
import json
import sys
import zipfile

import keras
import pytest

from keras_slstm.cli.main import main
from keras_slstm.cli.tasks import evaluate
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


def test_labels_that_the_model_does_not_know_and_other_wrong_input(classifier, command, tmp_path, capsys):
    data = write(tmp_path / "more.tsv", ["text\tlabel", "good\tjoy", "so so\tboredom"])
    assert command(classifier, data) == 2
    assert "has the label 'boredom'" in capsys.readouterr().err
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

    monkeypatch.setattr(sys, "stdin", io.StringIO("oslo\u2028now\toslo\n\noslo\trome\r\n"))
    assert main(["predict", str(path)]) == 0
    assert len(capsys.readouterr().out.split("\n")[:-1]) == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO("oslo\n"))
    assert main(["predict", str(path)]) == 2
    assert "standard input:1: expected two texts separated by a tab" in capsys.readouterr().err


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
