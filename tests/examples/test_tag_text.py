import json
import sys
from pathlib import Path

import keras
import pytest

from keras_slstm.training.results import read_results
from tests.processes import run_python

pytest.importorskip("seqeval", reason="the report needs the `examples` extra")
pytest.importorskip("matplotlib", reason="the picture needs the `plots` extra")

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "tag_text.py"
TINY = ["--encoder", "bilstm", "--units", "8", "--embedding-dim", "8", "--learning-rate", "0.03", "--dropout", "0"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    cities = ["Oslo", "New York", "Rome"]
    sentences = []
    for i in range(60):
        words = [("fly", "O", "VERB")] * (i % 3) + [("to", "O", "ADP")]
        parts = cities[i // 3 % 3].split()  # each city after each number of verbs
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


def test_trains_reports_saves_and_predicts(files, tmp_path, script, capsys):
    folder = tmp_path / "run"
    command = ["--task", "ner", *data_options(files), "--output", folder, "--epochs", 4, *TINY]
    done = run_python(SCRIPT, *command)
    assert done.returncode == 0, done.stderr
    assert "Development F1 1.0000" in done.stdout
    assert "Test F1 1.0000, accuracy 1.0000" in done.stdout
    assert "city     1.0000    1.0000    1.0000        11" in done.stdout
    assert "[Oslo: city " in done.stdout
    assert "\033" not in done.stdout  # no colours outside a terminal
    assert "\b" not in done.stdout
    assert {path.name for path in folder.iterdir()} == {
        "model.keras", "transitions.png", "results.json", "settings.json", "progress.json", "run.json",
    }  # fmt: skip
    result = json.loads((folder / "results.json").read_text())
    assert (result["test"]["f1"], result["development"]["f1"]) == (1.0, 1.0)
    assert result["test"]["types"]["city"]["support"] == 11
    assert sum(right for _, right in result["right_by_length"].values()) == sum(
        len(line) > 0 for line in (files / "test.conll").read_text().split("\n")
    )
    assert "--data PATH --dev-data PATH --test-data PATH --tag-column 1" in result["command"]
    assert str(tmp_path) not in json.dumps(result)
    [line] = read_results(tmp_path / "results.jsonl")
    assert line["settings"] == result["settings"]

    lines = folder / "lines.txt"
    lines.write_text("fly to New York\n", encoding="utf-8")
    assert script("--model", folder / "model.keras", "--predict", "fly to Oslo", "--predict-file", lines) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("fly to [Oslo: city ")
    assert second.startswith("fly to [New York: city ")

    assert script(*command) == 2  # a finished run is not overwritten
    assert "finished run" in capsys.readouterr().err


def test_parts_of_speech_with_softmax_and_a_summary_of_seeds(files, tmp_path, script, capsys):
    command = [
        "--task", "pos", *data_options(files, 2), "--output", tmp_path / "run", "--epochs", 15, "--patience", 15,
        "--head", "softmax", "--chars", "none", "--seed", 0, 1, *TINY,
    ]  # fmt: skip
    assert script(*command) == 0
    out = capsys.readouterr().out
    assert "Test accuracy 1.0000" in out
    assert "PROPN     1.0000" in out
    assert "test         accuracy  100.00 ± 0.00  (2 seeds)" in out
    assert "fly/VERB to/ADP Oslo/PROPN  (least sure: " in out
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["seed0", "seed1"]
    assert not (tmp_path / "run" / "seed0" / "transitions.png").exists()
    assert script(*command) == 0
    assert capsys.readouterr().out.count("finished before") == 2


def test_spans_are_coloured_by_type(script):
    span = script.module.FoundSpan("city", 1, 3, 0.987)
    tokens = ["to", "New", "York", "now"]
    assert script.module.mark(tokens, [span], {}) == "to [New York: city 0.99] now"
    assert script.module.mark(tokens, [span], {"city": 33}) == "to \033[1;33m[New York: city 0.99]\033[0m now"
    assert script.module.mark(tokens, [], {"city": 33}) == "to New York now"


@pytest.mark.parametrize(
    ("terminal", "no_color", "colored"), [(True, "", True), (False, "", False), (True, "1", False)]
)
def test_colours_are_for_terminals(script, monkeypatch, capsys, terminal, no_color, colored):
    class Tagger:
        scheme = "BIO"
        labels = ("O", "B-city")

        def find_spans(self, sentences):
            return [[script.module.FoundSpan("city", 0, 1, 0.5)] for _ in sentences]

    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    script.module.show(Tagger(), [["Oslo"]])
    assert ("\033" in capsys.readouterr().out) == colored


def test_word_vectors_and_a_smaller_training_set(files, tmp_path, script, capsys):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("oslo 1 2 3\nrome 3 2 1\nparis 1 1 1\n", encoding="utf-8")
    folder = tmp_path / "run"
    options = ["--vectors", vectors, "--fixed-vectors", "--limit", 10, "--epochs", 1, "--output", folder]
    tiny = [*TINY, "--embedding-dim", 3]  # the last value counts, and the vectors have three numbers
    assert script("--task", "ner", *data_options(files), *options, *tiny) == 0
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


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="tests/test_training.py does it on all")
def test_an_interrupted_training_goes_on(files, tmp_path, script, monkeypatch, capsys):
    command = ["--task", "ner", *data_options(files), "--output", tmp_path, *TINY]
    fit = keras.Model.fit

    def stop(epoch, logs):
        if epoch == 1:
            raise KeyboardInterrupt

    def interrupted(self, *args, callbacks, **kwargs):
        return fit(self, *args, callbacks=[*callbacks, keras.callbacks.LambdaCallback(on_epoch_begin=stop)], **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "fit", interrupted)
        assert script(*command) == 130
    assert "same command goes on" in capsys.readouterr().err
    assert script(*command, "--epochs", 2) == 0
    out = capsys.readouterr().out
    assert "Going on after epoch 1" in out
    assert "Epoch 1/2" not in out
    assert "Epoch 2/2" in out


def test_a_malformed_file_is_named_with_its_line(tmp_path, script, capsys):
    path = tmp_path / "broken.conll"
    for text, place in [("a B-X\nb\n", "2: 2 columns expected"), ("a B-X\n\nb O\nc I-X\n", '4: "I-X" goes on')]:
        path.write_text(text, encoding="utf-8")
        assert script("--task", "ner", "--data", path, "--output", tmp_path / "run") == 2
        assert capsys.readouterr().err.startswith(f"{path}:{place}")
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nowhere.keras", "--predict", "a"], "nowhere.keras"),
        (["--model", "nowhere.keras"], "--predict"),
        (["--predict-file", "lines.txt"], "--model"),
        (["--encoder", "bilstm", "--steps", "3"], "--steps belongs to --encoder slstm"),
        (["--data", "nowhere"], "There is no file nowhere"),
        (["--limit", "0"], "--limit must be an integer of at least 1"),
        (["--data", "a.conll", "--dataset", "ud_ewt"], "argument --dataset: not allowed with argument --data"),
        (["--test-data", "a.conll"], "--test-data goes with --data"),
        (["--head-option", "scheme=3"], "--encoder-option or --head-option does not fit"),
        (["--fixed-vectors"], "--fixed-vectors needs --vectors"),
        (["--head-option", "pairwise"], "NAME=VALUE expected"),
    ],
)
def test_bad_usage(arguments, message, script, capsys):
    assert script(*arguments) == 2
    assert message in capsys.readouterr().err


def test_the_settings_of_the_paper(script, monkeypatch):
    def settings(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        return script.module.choose_settings(script.module.parse_arguments(), seed=0)

    assert settings()["preset"] == "small"
    assert [settings("--task", task)["steps"] for task in ("ner", "pos")] == [9, 7]
    assert settings("--task", "pos", "--steps", "3")["steps"] == 3
    assert "steps" not in settings("--task", "ner", "--encoder", "bilstm")
