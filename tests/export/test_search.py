"""The exported search of a translation model finds the same translations without this package."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_slstm
from tests.export import runtimes
from tests.export.cases import SHAPES, mask_of, randomize
from tests.export.columns import COLUMNS
from tests.processes import run_python

BACKEND = keras.backend.backend()
TEXTS = ["the meeting begins at noon", "die Besprechung beginnt um zwölf"]
FORMATS = {
    "SavedModel": ("tf_saved_model", ""),
    "ONNX": ("onnx", ".onnx"),
    "LiteRT": ("litert", ".tflite"),
    "OpenVINO": ("openvino", ".xml"),
}


def seq2seq():
    pytest.importorskip("tokenizers")
    model = keras_slstm.Seq2Seq(units=4, bidirectional=True, embedding_dim=3, vectorizer={"max_tokens": 270})
    model.adapt(TEXTS)
    randomize(model)
    for weight in model.weights:  # otherwise one subword is always the best
        weight.assign(weight * (0.3 if "head/bias" in weight.path else 3))
    return model


def make_batches(model):
    random = np.random.default_rng(2)
    masks = [mask_of(batch, time, side) for batch, time, side in SHAPES]
    return [(random.integers(3, model.vectorizer.vocabulary_size, mask.shape) * mask).astype("int32") for mask in masks]


def search(model, batches, beam):
    model.compile(jit_compile=False)
    made = model._searches.get(keras_slstm.models.translation_search.Search(beam, 1.0, None))
    return [dict(zip(("ids", "scores"), made.predict_on_batch(each), strict=True)) for each in batches]


@pytest.mark.ci_run
@pytest.mark.skipif(BACKEND != "tensorflow", reason="only TensorFlow exports a search")
@pytest.mark.parametrize("column", FORMATS)
def test_exported_search(column, tmp_path):
    if missing := COLUMNS[BACKEND][column].missing:
        pytest.skip(f"needs {', '.join(missing)}")
    model = seq2seq()
    batches, (format, suffix) = make_batches(model), FORMATS[column]
    np.savez(tmp_path / "in.npz", **{f"{i}/source": x for i, x in enumerate(batches)})
    jobs = []
    for beam in (1, 3):
        file = tmp_path / f"beam{beam}{suffix}"
        model.export(file, format=format, beam=beam)
        about = (file / "assets.extra" / "model.json") if format == "tf_saved_model" else file.with_suffix(".json")
        check_description(model, json.loads(about.read_text(encoding="utf-8")))
        names = {"inputs": str(tmp_path / "in.npz"), "outputs": str(tmp_path / f"out{beam}.npz")}
        jobs.append({"runtime": COLUMNS[BACKEND][column].runtime, "file": str(file), **names})
    Path(tmp_path, "jobs.json").write_text(json.dumps(jobs))
    finished = run_python(runtimes.__file__, tmp_path / "jobs.json", PYTHONPATH=None)
    assert finished.returncode == 0, finished.stderr
    for beam in (1, 3):
        expected = search(model, batches, beam)
        assert len({tuple(row[:3]) for each in expected for row in each["ids"]}) > 1
        with np.load(tmp_path / f"out{beam}.npz") as found:
            assert "error" not in found, str(found["error"])
            for batch, outputs in enumerate(expected):
                np.testing.assert_array_equal(found[f"{batch}/ids"], outputs["ids"])
                np.testing.assert_allclose(found[f"{batch}/scores"], outputs["scores"], atol=1e-5)


def check_description(model, about):
    """A caller without this package encodes a text as the model does."""
    tokenizers = pytest.importorskip("tokenizers")
    assert (about["inputs"], about["outputs"]) == (["source"], ["ids", "scores"])
    ids = [3 + i for i in tokenizers.Tokenizer.from_str(about["tokenizer"]).encode(" the meeting").ids]
    assert [ids] == model.vectorizer.encode(["the meeting"])
    assert "".join(about["vocabulary"][i] for i in ids) == "ĠtheĠmeeting"
    assert len(about["vocabulary"]) == model.vectorizer.vocabulary_size


@pytest.mark.ci_run("torch")
def test_search_is_equal_in_export_mode():
    model = seq2seq()
    batches = make_batches(model)[1:3]
    expected = search(model, batches, 2)
    with keras_slstm.export_mode():
        found = search(model, batches, 2)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one["ids"], other["ids"])
        np.testing.assert_allclose(one["scores"], other["scores"], atol=1e-5)


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("torch", {}, "cannot express the loop of a search"),
        ("pdf", {}, "`format` must be one of"),
        ("tf_saved_model", {"beam": 0}, "`beam`"),
        ("onnx", {}, r"must end in \.onnx" if BACKEND == "tensorflow" else "KERAS_BACKEND=tensorflow"),
    ],
)
def test_refuses_before_it_writes(format, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        seq2seq().export(tmp_path / "model", format=format, **options)
    assert not list(tmp_path.iterdir())


def test_refuses_without_subwords(tmp_path):
    with pytest.raises(ValueError, match="no subwords yet"):
        keras_slstm.Seq2Seq(units=4).export(tmp_path / "model")
