import json

import pytest

from keras_slstm import SentenceClassifier

pytest.importorskip("matplotlib", reason="the picture needs the `plots` extra")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    options = {"max_depth": 3, "sequential": None}
    model = SentenceClassifier(["x", "y"], "depth_adaptive_grn", 3, encoder_options=options, embedding_dim=3)
    model.adapt(["a b", "c"])
    path = tmp_path_factory.mktemp("run") / "model.keras"
    model.save(path)
    return path


def test_writes_pictures_and_counts(model, tmp_path, script, capsys):
    texts = tmp_path / "texts.txt"
    texts.write_text("a b c $x$\nc\nb\n", encoding="utf-8")
    assert script("--model", model, "--file", texts, "--limit", 2, "--show", 1, "--no-colour") == 0
    out = capsys.readouterr().out
    assert "2 texts" in out
    assert "/1" in out or "/2" in out or "/3" in out
    for name in ("depths.png", "depths-histogram.png"):
        assert (model.parent / name).read_bytes().startswith(b"\x89PNG")
    counts = json.loads((model.parent / "depths-histogram.json").read_text())
    assert len(counts["counts"]) == 3
    assert sum(counts["counts"]) == counts["words"]
    arguments = ["--sentence", "a $x$ b", "--sentence", "c", "--colour", "--output", tmp_path / "travel.svg"]
    assert script("--model", model, "--limit", 5, *arguments) == 0
    assert capsys.readouterr().out.count("\033[38;5;") == 4 + 2  # a dollar sign is a word
    assert b"<svg" in (tmp_path / "travel.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nowhere.keras"], "nowhere.keras"),
        (["--file", "texts.txt"], "--model"),
        (["--model", "MODEL", "--file", "nowhere.txt"], "nowhere.txt"),
        (["--model", "MODEL", "--dataset", "nowhere"], "nowhere"),
        (["--model", "MODEL", "--limit", "0"], "--limit must be at least 1"),
        (["--model", "MODEL", "--output", "picture"], "must end in one of"),
        (["--model", "MODEL", "--show", "0"], "--show must be at least 1"),
    ],
)
def test_bad_usage(arguments, message, model, script, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert script(*[str(model) if word == "MODEL" else word for word in arguments]) == 2
    assert message in capsys.readouterr().err


def test_other_models_have_no_depths(script, tmp_path, capsys):
    model = SentenceClassifier(["x", "y"], "bilstm", units=2, embedding_dim=2)
    model.adapt(["a"])
    model.save(tmp_path / "model.keras")
    assert script("--model", tmp_path / "model.keras") == 2
    assert "no depths" in capsys.readouterr().err
