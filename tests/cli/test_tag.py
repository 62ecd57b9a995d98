"""Tests of `keras-slstm tag`."""

import json
from types import SimpleNamespace

import keras
import pytest

from keras_slstm.cli.main import main, parse
from keras_slstm.cli.presets import load_presets
from keras_slstm.cli.tag import check
from keras_slstm.cli.tasks.tag import default_preset, label_factors, make_loss, report
from keras_slstm.datasets.tagged_corpus import TaggedSentences
from keras_slstm.losses import CRFLoss, CRFMarginLoss
from keras_slstm.training.results import read_results
from tests.cli.command_checks import (
    check_that_an_interrupted_training_resumes,
    check_that_training_resumes_within_an_epoch,
)

pytest.importorskip("seqeval", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the plot needs the `plots` extra")

ALL_DATA = ["--stream", "--data", __file__, "--dev-data", __file__, "--test-data", __file__]
TINY = ["--encoder", "bilstm", "--units", "8", "--embedding-dim", "8", "--learning-rate", "0.03", "--dropout", "0"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    cities = ["Oslo", "New York", "Rome"]
    sentences = []
    for i in range(60):
        words = [("fly", "O", "VERB")] * (i % 3) + [("to", "O", "ADP")]
        parts = cities[i // 3 % 3].split()  # every city with every number of verbs
        words += [(word, f"{'I' if k else 'B'}-city", "PROPN") for k, word in enumerate(parts)]
        sentences.append("\n".join(" ".join(word) for word in words))
    for name, part in (("train", sentences), ("dev", sentences[:9]), ("test", sentences[9:20])):
        (folder / f"{name}.conll").write_text("\n\n".join(part) + "\n", encoding="utf-8")
    return folder


def data_options(files, column=1):
    return [
        "--data", files / "train.conll", "--dev-data", files / "dev.conll", "--test-data", files / "test.conll",
        "--tag-column", column,
    ]  # fmt: skip


def test_trains_reports_saves_and_predicts(files, tmp_path, command, capsys):
    folder = tmp_path / "run"
    given = ["--task", "ner", *data_options(files), "--output", folder, "--epochs", 4, *TINY]
    assert command(*given) == 0
    out = capsys.readouterr().out
    assert "Development F1 1.0000" in out
    assert "Test F1 1.0000, accuracy 1.0000" in out
    assert "city     1.0000    1.0000    1.0000        11" in out
    assert "[Oslo: city " in out
    assert "\033" not in out  # no colours outside a terminal
    assert "\b" not in out
    assert {path.name for path in folder.iterdir()} == {
        "model.keras", "transitions.png", "learning_curve.png", "predictions.tsv", "results.json", "settings.json",
        "progress.json", "run.json",
    }  # fmt: skip
    result = json.loads((folder / "results.json").read_text())
    assert (result["test"]["f1"], result["development"]["f1"]) == (1.0, 1.0)
    assert (result["test_f1"], result["development_accuracy"]) == (1.0, 1.0)
    assert result["test"]["types"]["city"]["support"] == 11
    head, first, *_ = (folder / "predictions.tsv").read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == ["sentence", "word", "tag", "prediction"]
    assert first == "1\tto\tO\tO"
    assert sum(right for _, right in result["right_by_length"].values()) == sum(
        len(line) > 0 for line in (files / "test.conll").read_text().split("\n")
    )
    assert result["command"].startswith("keras-slstm tag --task ner --data PATH --dev-data PATH --test-data PATH")
    assert str(tmp_path) not in json.dumps(result)
    [line] = read_results(tmp_path / "results.jsonl")
    assert line["settings"] == result["settings"]

    lines = folder / "lines.txt"
    lines.write_text("fly to New York\n", encoding="utf-8")
    assert main(["predict", folder / "model.keras", "fly to Oslo", "--file", lines]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("fly to [Oslo: city ")
    assert second.startswith("fly to [New York: city ")

    assert command(*given) == 2  # a finished run is not overwritten
    assert "finished run" in capsys.readouterr().err


@pytest.mark.short_run
def test_parts_of_speech_with_softmax_and_a_summary_of_seeds(files, tmp_path, command, capsys):
    given = [
        "--task", "pos", *data_options(files, 2), "--output", tmp_path / "run", "--epochs", 15, "--patience", 15,
        "--head", "softmax", "--characters", "none", "--seed", 0, 1, *TINY,
    ]  # fmt: skip
    assert command(*given) == 0
    out = capsys.readouterr().out
    assert "Test accuracy 1.0000" in out
    assert "PROPN     1.0000" in out
    assert "100.00 ± 0.00" in out.partition("development")[2]
    assert "fly/VERB to/ADP Oslo/PROPN  (lowest confidence: " in out
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["train-seed0", "train-seed1"]
    assert not (tmp_path / "run" / "train-seed0" / "transitions.png").exists()
    assert command(*given) == 0
    assert capsys.readouterr().out.count("already finished") == 2


def test_word_vectors_and_a_smaller_training_set(files, tmp_path, command, capsys):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("oslo 1 2 3\nrome 3 2 1\nparis 1 1 1\n", encoding="utf-8")
    folder = tmp_path / "run"
    options = ["--vectors", vectors, "--fixed-vectors", "--limit", 10, "--epochs", 1, "--output", folder]
    tiny = [*TINY, "--embedding-dim", 3]  # the last value counts; the vectors have three dimensions
    assert command("--task", "ner", *data_options(files), *options, *tiny) == 0
    out = capsys.readouterr().out
    assert "10 / 9 / 11 sentences" in out
    assert "Word vectors: " in out
    result = json.loads((folder / "results.json").read_text())
    assert result["vectors"] == "vectors.txt"
    assert result["coverage"][1] == pytest.approx(2 / 6)  # oslo, rome; not fly, to, new, york
    model = keras.saving.load_model(folder / "model.keras")
    assert model.embedding_dim == 3
    [[oslo]] = model.vectorizer.encode([["OSLO"]])
    assert keras.ops.convert_to_numpy(model.embedding.embeddings)[oslo].tolist() == [1, 2, 3]


@pytest.mark.parametrize(("found", "is_named"), [("O", True), ("B-city", False)])
def test_a_tagger_that_has_learned_nothing_is_reported(found, is_named, capsys):
    part = TaggedSentences([["to", "Oslo"], ["to", "to", "Rome"]], [["O", "B-city"], ["O", "O", "B-city"]])
    tags = [[*names[:-1], found] for names in part.tags]
    report(SimpleNamespace(scheme="BIO", tag=lambda sentences: tags), part, "Test")
    assert ('it labels every word "O"' in capsys.readouterr().out) == is_named


def test_weights_of_labels_and_their_types():
    labels = ["O", "B-a", "I-a", "B-b", "I-b"]
    assert label_factors({"a": 3.0, "I-b": 2.0}, labels, "BIO") == [1.0, 3.0, 3.0, 1.0, 2.0]
    assert label_factors({"a": 3.0, "B-a": 0.0}, labels, "BIO") == [1.0, 0.0, 3.0, 1.0, 1.0]
    assert label_factors({"B-a": 2.0}, labels, None) == [1.0, 2.0, 1.0, 1.0, 1.0]
    for name, scheme in [("c", "BIO"), ("", "BIO"), ("a", None)]:
        with pytest.raises(ValueError, match=f"--label-weights: unknown label {name!r}. Known names: B-a, "):
            label_factors({name: 2.0}, labels, scheme)


def test_the_loss_of_the_options():
    model = SimpleNamespace(labels=("O", "B-a", "I-a"), scheme="BIO")
    assert make_loss({}, model) is None
    loss = make_loss({"loss": "crf", "label_weights": {"a": 3.0}, "weighting": "transition"}, model)
    assert (type(loss), loss.label_weights, loss.weighting) == (CRFLoss, [1.0, 3.0, 3.0], "transition")
    loss = make_loss({"loss": "margin", "label_weights": {"a": 3.0}}, model)
    assert (type(loss), loss.cost) == (CRFMarginLoss, [[0, 1, 1], [3, 0, 3], [3, 3, 0]])


@pytest.mark.parametrize("loss", ["crf", "margin"])
def test_trains_with_weights_of_labels(loss, files, tmp_path, command, capsys):
    options = ["--label-weights", "city=3", "--loss", loss, "--limit", 10, "--epochs", 1, "--output", tmp_path / "run"]
    assert command("--task", "ner", *data_options(files), *options, *TINY) == 0
    settings = json.loads((tmp_path / "run" / "results.json").read_text())["settings"]
    expected = {"crf": {"weighting": "emission"}, "margin": {}}[loss]
    expected = {"loss": loss, "label_weights": {"city": 3.0}, **expected}
    assert {name: settings.get(name) for name in expected} == expected
    assert keras.saving.load_model(tmp_path / "run" / "model.keras").tag([["to", "Oslo"]])


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="tests/training covers the other backends")
def test_an_interrupted_training_resumes(files, tmp_path, command, monkeypatch, capsys):
    options = ["--task", "ner", *data_options(files), "--output", tmp_path, *TINY]
    check_that_an_interrupted_training_resumes(command, options, monkeypatch, capsys)


@pytest.fixture
def streamed(files, tmp_path):
    """Options of a training that streams its sentences from disk."""
    pytest.importorskip("array_record", reason="streaming needs the `stream` extra")
    return ["--task", "ner", "--stream", *data_options(files), "--output", tmp_path / "run", *TINY]


def test_sentences_are_streamed_from_disk(streamed, tmp_path, command, capsys):
    assert command(*streamed, "--epochs", 20) == 0
    out = capsys.readouterr().out
    assert "60 / 9 / 11 sentences for training / development / test, 5 labels (BIOES)" in out
    assert "Test F1 1.0000, accuracy 1.0000" in out
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    assert (result["characters"], result["split"]["sizes"]) == (None, [60, 9, 11])
    assert (tmp_path / "train-prepared" / "corpus.json").is_file()


@pytest.mark.backends("torch")
def test_an_interrupted_streamed_training_resumes(streamed, command, monkeypatch, capsys):
    check_that_an_interrupted_training_resumes(command, streamed, monkeypatch, capsys)


@pytest.mark.backends("torch")
def test_a_streamed_training_resumes_within_an_epoch(streamed, tmp_path, command, monkeypatch, capsys):
    options = [*streamed, "--batch-size", 16]
    check_that_training_resumes_within_an_epoch(command, options, tmp_path / "run", monkeypatch, capsys)


def test_a_malformed_file_is_named_with_its_line(tmp_path, command, capsys):
    path = tmp_path / "broken.conll"
    for text, place in [("a B-X\nb\n", "2: expected 2 columns"), ("a B-X\n\nb O\nc I-X\n", '4: "I-X" continues')]:
        path.write_text(text, encoding="utf-8")
        assert command("--task", "ner", "--data", path, "--output", tmp_path / "run") == 2
        assert capsys.readouterr().err.startswith(f"{path}:{place}")
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--encoder", "bilstm", "--steps", "3"], "--steps needs --encoder slstm"),
        (["--data", "nowhere"], "--data: nowhere does not exist"),
        (["--stream"], "--stream needs --data, --dev-data and --test-data"),
        ([*ALL_DATA, "--characters", "cnn"], "--characters needs texts in memory, but --stream keeps them on disk"),
        ([*ALL_DATA, "--vectors", __file__], "--vectors needs texts in memory, but --stream keeps them on disk"),
        (["--limit", "0"], "--limit: expected an integer of at least 1"),
        (["--data", "a.conll", "--dataset", "ud_ewt"], "use either --dataset or --data, not both"),
        (["--test-data", "a.conll"], "--test-data needs --data"),
        (["--head-option", "scheme=3"], "--head-option is invalid"),
        (["--fixed-vectors"], "--fixed-vectors needs --vectors"),
        (["--head-option", "pairwise"], "expected NAME=VALUE"),
        (["--head", "softmax", "--label-weights", "O=2"], "--loss and --label-weights need --head crf"),
        (["--head", "softmax", "--loss", "margin"], "--loss and --label-weights need --head crf"),
        (["--weighting", "emission"], "--weighting needs --label-weights and --loss crf"),
        (["--label-weights", "O"], "expected NAME=FACTOR with a number of at least 0, but got 'O'"),
        (["--label-weights", "O=-1"], "expected NAME=FACTOR with a number of at least 0, but got 'O=-1'"),
    ],
)
def test_bad_usage(arguments, message, command, capsys):
    assert command(*arguments) == 2
    assert message in capsys.readouterr().err


def test_the_settings_of_the_paper():
    def preset(*words):
        arguments = parse("tag", words)
        check(arguments)
        return default_preset(arguments, arguments.dataset[0])

    presets = load_presets("tag")
    assert preset() == "small"
    assert [presets[preset("--task", task)]["steps"] for task in ("ner", "pos")] == [9, 7]
    assert presets["paper-pos"] == {**presets["paper"], "steps": 7}
