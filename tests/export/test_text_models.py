"""Exported text models have the promised input and output names, and run without this package."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

from tests.export import runtimes, text_models
from tests.export.columns import COLUMNS
from tests.processes import run_python

BACKEND = keras.backend.backend()
FORMATS = {
    "ONNX": ("onnx", ".onnx"),
    "LiteRT": ("litert", ".tflite"),
    "OpenVINO": ("openvino", ".xml"),
    ".pt2": ("torch", ".pt2"),
}
NAMES = {
    "tensorflow": ["SentenceClassifier", "SequenceTagger", "SentencePairClassifier"],
    # PyTorch exports no loops, so no CRF and no BiLSTM.
    "torch": ["SentenceClassifier", "SentencePairClassifier", "SequenceTagger(softmax)"],
    # jax2onnx cannot merge two dimensions, as characters require.
    "jax": ["SentenceClassifier", "SentencePairClassifier", "SequenceTagger(words)"],
}[BACKEND]


@pytest.mark.ci_run
@pytest.mark.parametrize("name", NAMES)
def test_exported_text_model(name, tmp_path):
    model, batches, expected = text_models.make(name)
    np.savez(tmp_path / "in.npz", **{f"{i}/{k}": x for i, batch in enumerate(batches) for k, x in batch.items()})
    jobs = []
    if not any(column in FORMATS and not each.missing for column, each in COLUMNS[BACKEND].items()):
        pytest.skip("needs packages")
    for column, (format, suffix) in FORMATS.items():
        if column in COLUMNS[BACKEND] and not COLUMNS[BACKEND][column].missing:
            file = tmp_path / f"model{suffix}"
            model.export(file, format=format)
            about = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
            assert about["label_names"] == list(model.labels)
            assert about["vocabulary"] == model.vectorizer.vocabulary
            assert about["inputs"] == sorted(batches[0])
            jobs.append({
                "runtime": COLUMNS[BACKEND][column].runtime,
                "file": str(file),
                "inputs": str(tmp_path / "in.npz"),
                "outputs": str(tmp_path / f"{format}.npz"),
            })  # fmt: skip
    Path(tmp_path, "jobs.json").write_text(json.dumps(jobs))
    finished = run_python(runtimes.__file__, tmp_path / "jobs.json", PYTHONPATH=None)
    assert finished.returncode == 0, finished.stderr
    for job in jobs:
        with np.load(job["outputs"]) as found:
            assert "error" not in found, str(found["error"])
            for batch, outputs in enumerate(expected):
                for name, values in outputs.items():
                    np.testing.assert_allclose(found[f"{batch}/{name}"], values, atol=1e-5)


@pytest.mark.skipif(BACKEND != "torch", reason="other backends write loops")
def test_pytorch_refuses_a_crf(tmp_path):
    pytest.importorskip("onnx")
    model, _, _ = text_models.make("SequenceTagger")
    with pytest.raises(ValueError, match="cannot export a loop over time"):
        model.export(tmp_path / "model.onnx", format="onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(BACKEND != "jax", reason="other backends merge dimensions")
def test_jax_refuses_characters(tmp_path):
    pytest.importorskip("jax2onnx")
    model, _, _ = text_models.make("SequenceTagger")
    with pytest.raises(ValueError, match="jax2onnx cannot convert characters"):
        model.export(tmp_path / "model.onnx", format="onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("format", "file", "message"),
    [
        ("pdf", "model.pdf", "`format` must be one of"),
        ("onnx", "model.pb", r"must end in \.onnx"),
        ({"tensorflow": "torch", "torch": "litert", "jax": "litert"}[BACKEND], None, "KERAS_BACKEND="),
    ],
)
def test_refuses_before_it_writes(format, file, message, tmp_path):
    model = text_models.TEXT_MODELS["SentenceClassifier"]()
    suffix = dict(FORMATS.values()).get(format)
    with pytest.raises(ValueError, match=message):
        model.export(tmp_path / (file or f"model{suffix}"), format=format)
    assert not list(tmp_path.iterdir())
