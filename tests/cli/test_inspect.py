"""Tests of `keras-slstm inspect`."""

import json
import sys

import pytest

from keras_slstm import SentenceClassifier

pytest.importorskip("matplotlib", reason="the plots need the `plots` extra")


def saved(folder, encoder, **options):
    model = SentenceClassifier(["x", "y"], encoder, units=3, embedding_dim=3, encoder_options=options)
    model.adapt(["a b", "c"])
    model.save(folder / "model.keras")
    return folder / "model.keras"


@pytest.fixture(scope="module")
def grn(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("grn"), "depth_adaptive_grn", max_depth=3, sequential=None)


@pytest.fixture(scope="module")
def caslstm(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("caslstm"), "caslstm", num_layers=3)


def test_depths(grn, tmp_path, command, capsys, monkeypatch):
    texts = tmp_path / "texts.txt"
    texts.write_text("a b c $x$\nc\nb\n", encoding="utf-8")
    assert command(grn, "--file", texts, "--limit", 2, "--show", 1) == 0
    out = capsys.readouterr().out
    assert "2 texts" in out
    assert "/1" in out or "/2" in out or "/3" in out
    for name in ("depths.png", "depths-histogram.png"):
        assert (grn.parent / name).read_bytes().startswith(b"\x89PNG")
    counts = json.loads((grn.parent / "depths-histogram.json").read_text())
    assert len(counts["counts"]) == 3
    assert sum(counts["counts"]) == counts["words"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert command(grn, "a $x$ b", "c", "--limit", 5, "--output", tmp_path / "travel.svg") == 0
    assert capsys.readouterr().out.count("\033[38;5;") == 5 + 1  # the dollar sign is a word, too
    assert b"<svg" in (tmp_path / "travel.svg").read_bytes()


def test_gates(caslstm, tmp_path, command, capsys):
    texts = tmp_path / "texts.txt"
    texts.write_text("a b c\nc\nb\n", encoding="utf-8")
    assert command(caslstm, "--file", texts, "--limit", 2, "--bins", 20) == 0
    assert "2 texts" in capsys.readouterr().out
    assert (caslstm.parent / "gates.png").read_bytes().startswith(b"\x89PNG")
    counts = json.loads((caslstm.parent / "gates.json").read_text())
    assert list(counts["layers"]) == ["2", "3"]
    assert sum(counts["layers"]["3"]["gates"]) == 3 * counts["words"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.keras"], "nowhere.keras"),
        (["--file", "lines.txt"], "MODEL"),
        (["MODEL", "--file", "nowhere.txt"], "--file: nowhere.txt does not exist"),
        (["MODEL", "--file", "."], "--file: . is a folder: pass a file"),
        (["MODEL", "--dataset", "nowhere"], "nowhere"),
        (["MODEL", "--limit", "0"], "--limit: expected an integer of at least 1"),
        (["MODEL", "--output", "picture"], "must end in one of"),
        (["MODEL", "--bins", "15"], "--bins: expected a multiple of 10, but got 15"),
        (["MODEL", "--bins", "20"], "--bins is for gates, but"),
    ],
)
def test_bad_usage(arguments, message, grn, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(*[grn if word == "MODEL" else word for word in arguments]) == 2
    assert message in capsys.readouterr().err


def test_other_models_have_neither(tmp_path, command, capsys):
    model = saved(tmp_path, "bilstm")
    for words in (["--dataset", "travel_desk", "--limit", 2], ["a b"], ["--show", 3]):
        assert command(model, *words) == 2
        error = capsys.readouterr().err
        assert "no vertical gates" in error
        assert "--file" not in error  # which would not help


def test_files_of_a_run_are_kept(caslstm, grn, tmp_path, command, capsys):
    texts = tmp_path / "texts.txt"
    texts.write_text("a b c\n", encoding="utf-8")
    for model, name, kept in (
        (caslstm, "results.png", "results.json"),
        (caslstm, "confusion.png", "confusion.png"),
        (grn, "curve.png", "curve-histogram.json"),
    ):
        (tmp_path / kept).write_text('{"test_accuracy": 0.9}', encoding="utf-8")
        assert command(model, "--file", texts, "--output", tmp_path / name) == 2
        assert f"{tmp_path / kept} exists and was not written by inspect" in capsys.readouterr().err
        assert (tmp_path / kept).read_text(encoding="utf-8") == '{"test_accuracy": 0.9}'
    for _ in range(2):  # it replaces its own files
        assert command(caslstm, "--file", texts, "--output", tmp_path / "gates.png") == 0


@pytest.mark.parametrize(("words", "message"), [(["a b"], "TEXT is for depths"), (["--show", "3"], "--show is for")])
def test_options_of_depths_are_refused_for_gates(words, message, caslstm, command, capsys):
    assert command(caslstm, *words) == 2
    assert message in capsys.readouterr().err
