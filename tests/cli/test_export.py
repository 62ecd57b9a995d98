"""`keras-slstm export` writes every format that the models support, and reports others in one line."""

from __future__ import annotations

import keras
import pytest

from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.seq2seq import Seq2Seq
from tests.export.text_models import TEXT_MODELS, TEXTS

BACKEND = keras.backend.backend()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a classifier, a tagger with a CRF and a translation model."""
    path = tmp_path_factory.mktemp("models")
    TEXT_MODELS["SentenceClassifier"]().save(path / "classifier.keras")
    TEXT_MODELS["SequenceTagger"]().save(path / "tagger.keras")
    translator = Seq2Seq(cell="lstm", units=4, num_layers=1, embedding_dim=4, vectorizer={"max_tokens": 270})
    translator.adapt(TEXTS)
    translator.save(path / "translator.keras")
    return path


@pytest.fixture
def asked(monkeypatch):
    """Records the arguments of the models' export methods instead of writing files."""
    calls = []
    for cls, method in ((SentenceClassifier, "export"), (SentenceClassifier, "export_text"), (Seq2Seq, "export")):
        monkeypatch.setattr(cls, method, lambda self, *args, _method=method, **kwargs: calls.append((_method, kwargs)))
    return calls


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["served"], ("export_text", {})),
        (["served", "--format", "text"], ("export_text", {})),
        (["m.onnx"], ("export", {"format": "onnx", "verbose": False})),
        (["m.tflite"], ("export", {"format": "litert", "verbose": False})),
        (["m.xml"], ("export", {"format": "openvino", "verbose": False})),
        (["m.pt2"], ("export", {"format": "torch", "verbose": False})),
        (["m.any", "--format", "onnx"], ("export", {"format": "onnx", "verbose": False})),
    ],
)
def test_the_extension_selects_the_format(words, expected, folder, asked, command, tmp_path):
    assert command(folder / "classifier.keras", tmp_path / words[0], *words[1:]) == 0
    assert asked == [expected]


def test_a_translation_model_is_exported_with_its_search(folder, asked, command, tmp_path, capsys):
    search = {"beam": 1, "length_penalty": 1.0, "max_length": None, "verbose": False}
    assert command(folder / "translator.keras", tmp_path / "m.onnx") == 0
    assert command(folder / "translator.keras", tmp_path / "m.tflite", "--beam", 3) == 0
    assert asked == [("export", {**search, "format": "onnx"}), ("export", {**search, "beam": 3, "format": "litert"})]
    assert command(folder / "classifier.keras", tmp_path / "m.onnx", "--beam", 3) == 2
    assert "--beam needs a translation model" in capsys.readouterr().err
    assert command(folder / "translator.keras", tmp_path / "new", "--format", "text") == 2
    assert "does not accept strings" in capsys.readouterr().err


def test_no_file_is_replaced(folder, command, tmp_path, capsys):
    (tmp_path / "m.json").write_text("{}")
    assert command(folder / "classifier.keras", tmp_path / "m.onnx") == 2
    assert "m.json exists" in capsys.readouterr().err


def test_errors_are_one_line(folder, command, monkeypatch, tmp_path, capsys):
    def fail(self, *args, **kwargs):
        raise TypeError("shapes differ:\n3 and 4")

    monkeypatch.setattr(SentenceClassifier, "export", fail)
    assert command(folder / "classifier.keras", tmp_path / "m.onnx") == 2
    assert capsys.readouterr().err == f"{BACKEND} cannot write {tmp_path / 'm.onnx'}: shapes differ: 3 and 4\n"


REFUSED = {
    "tensorflow": [("classifier", "m.pt2", "KERAS_BACKEND=torch")],
    "jax": [
        ("classifier", "served", "KERAS_BACKEND=tensorflow"),
        ("tagger", "m.onnx", "KERAS_BACKEND=tensorflow"),
        ("translator", "served", "KERAS_BACKEND=tensorflow"),
    ],
    "torch": [
        ("classifier", "served", "KERAS_BACKEND=tensorflow"),
        ("classifier", "m.tflite", "KERAS_BACKEND=tensorflow"),
        ("tagger", "m.onnx", "KERAS_BACKEND=tensorflow"),
        ("translator", "m.onnx", "KERAS_BACKEND=tensorflow"),
    ],
}[BACKEND]


@pytest.mark.parametrize(("model", "target", "expected"), REFUSED)
def test_each_backend_names_the_one_that_writes_the_format(model, target, expected, folder, command, tmp_path, capsys):
    assert command(folder / f"{model}.keras", tmp_path / target) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
    assert "Exception encountered" not in error
    assert not list(tmp_path.iterdir())


WRITTEN = {
    "tensorflow": [["served"], ["served", "--format", "ids"], ["m.onnx"], ["m.tflite"], ["m.xml"]],
    "jax": [["served", "--format", "ids"], ["m.onnx"]],
    "torch": [["m.onnx"], ["m.pt2"]],
}[BACKEND]


@pytest.mark.short_run
@pytest.mark.parametrize("words", WRITTEN, ids=" ".join)
def test_formats_are_written_quietly(words, folder, command, tmp_path, capfd):
    if words[0].startswith("m."):
        pytest.importorskip({"m.tflite": "ai_edge_litert", "m.xml": "openvino", "m.pt2": "torch"}.get(words[0], "onnx"))
    target = tmp_path / "new" / words[0]
    assert command(folder / "classifier.keras", target, *words[1:]) == 0
    beside = f" and {target.with_suffix('.json')}" if target.suffix else ""
    assert capfd.readouterr() == (f"Wrote {target}{beside}\n", "")
    assert target.exists()
    assert not target.suffix or target.with_suffix(".json").exists()
