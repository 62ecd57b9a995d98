import json

import pytest

from keras_slstm import SentenceClassifier

pytest.importorskip("matplotlib", reason="the picture needs the `plots` extra")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    model = SentenceClassifier(["x", "y"], "caslstm", units=3, embedding_dim=3, encoder_options={"num_layers": 3})
    model.adapt(["a b", "c"])
    path = tmp_path_factory.mktemp("run") / "model.keras"
    model.save(path)
    return path


def test_writes_picture_and_counts(model, tmp_path, script, capsys):
    lines = tmp_path / "lines.txt"
    lines.write_text("a b c\nc\nb\n", encoding="utf-8")
    assert script("--model", model, "--file", lines, "--limit", 2, "--bins", 20) == 0
    assert "2 sentences" in capsys.readouterr().out
    assert (model.parent / "gates.png").read_bytes().startswith(b"\x89PNG")
    counts = json.loads((model.parent / "gates.json").read_text())
    assert list(counts["layers"]) == ["2", "3"]
    assert sum(counts["layers"]["3"]["gates"]) == 3 * counts["words"]
    assert script("--model", model, "--limit", 5, "--output", tmp_path / "travel.svg") == 0
    assert b"<svg" in (tmp_path / "travel.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nowhere.keras"], "nowhere.keras"),
        (["--file", "lines.txt"], "--model"),
        (["--model", "MODEL", "--file", "nowhere.txt"], "nowhere.txt"),
        (["--model", "MODEL", "--dataset", "nowhere"], "nowhere"),
        (["--model", "MODEL", "--limit", "0"], "--limit must be at least 1"),
        (["--model", "MODEL", "--output", "picture"], "must end in one of"),
        (["--model", "MODEL", "--bins", "15"], "--bins must be a multiple of 10"),
    ],
)
def test_bad_usage(arguments, message, model, script, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert script(*[str(model) if word == "MODEL" else word for word in arguments]) == 2
    assert message in capsys.readouterr().err
