"""The programs of the serving guide give the labels of the model, even for odd texts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.text import TextVectorizer
from tests.export.cases import randomize

BACKEND = keras.backend.backend()
RECIPES = Path(__file__).parents[2] / "docs/guides/recipes"
TEXTS = [
    "Cancel my hotel!",
    "I don't know, it's John’s well-known-to-all o'clock ...",
    "",
    " \t\u00a0 ",
    "東京へ行く flight ÀÉÎ Straße İstanbul ΣΊΣΥΦΟΣ",
    "naïve e\u0301 \u0939\u093f\u0928\u094d\u0926\u0940 می‌خواهم snake_case x² ½",
    "😀 👩‍👩‍👧 100% (a+b)*c $9.99 «quoted» 'single' \u200b\ufeffend",
    "line\nbreak\x1fcontrol\u2028separator \ud7ff",
]

# onnxruntime-web does not load the files from PyTorch; for the other programs, one backend is enough.
pytestmark = [pytest.mark.backends("tensorflow"), pytest.mark.short_run]


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Exports a model to a folder; returns the file, and the label and its probability for each of `TEXTS`."""
    if BACKEND != "tensorflow":
        pytest.skip("the files are written by TensorFlow")
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

    def export(**options):
        labels = ["book", "cancel", "change", "ask", "other"]
        vectorizer = TextVectorizer(min_count=1, **options)
        model = keras_slstm.SentenceClassifier(labels, encoder="slstm", units=4, embedding_dim=8, vectorizer=vectorizer)
        model.adapt(TEXTS)  # each word has its own id, so another id gives another probability
        randomize(model)
        file = tmp_path_factory.mktemp("recipe") / "intents.onnx"
        model.export(file, format="onnx")
        probabilities = [model.predict([text], verbose=0)[0] for text in TEXTS]
        return file, [(labels[np.argmax(row)], float(np.max(row))) for row in probabilities]

    return export


@pytest.fixture(scope="module", params=["words", "split", "whitespace"])
def exported(request, make):
    options = {
        "words": {},
        "split": {"split_words": True, "lowercase": False},
        "whitespace": {"tokenizer": "whitespace", "max_length": 3},
    }
    return make(**options[request.param])


def _check(printed: str, expected: list[tuple[str, float]]) -> None:
    found = [line.split("\t") for line in printed.splitlines()]
    assert [label for label, _ in found] == [label for label, _ in expected]
    np.testing.assert_allclose([float(p) for _, p in found], [p for _, p in expected], atol=2e-6)


def _run(*command: str | Path, **environment: str) -> str:
    finished = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_python(exported):
    file, expected = exported
    _check(_run(sys.executable, RECIPES / "classify.py", file, *TEXTS), expected)


def test_javascript(exported):
    """Runs if node finds onnxruntime-web, through NODE_PATH or as a global package."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node is not installed")
    folder = os.environ.get("NODE_PATH") or _run("npm", "root", "-g").strip()
    if not Path(folder, "onnxruntime-web").is_dir():
        pytest.skip("onnxruntime-web is not installed: npm install -g onnxruntime-web")
    file, expected = exported
    _check(_run("node", RECIPES / "classify.js", file, *TEXTS, NODE_PATH=folder), expected)


def test_java_finds_the_same_words(make):
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    file, _ = make()
    vocabulary = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))["vocabulary"]
    words = file.with_name("vocabulary.txt")
    words.write_text("\n".join(vocabulary), encoding="utf-8")
    printed = _run("java", RECIPES / "Words.java", words, *TEXTS)
    vectorizer = TextVectorizer(min_count=1)
    vectorizer.set_vocabulary(vocabulary[2:])
    assert [[*map(int, line.split())] for line in printed.splitlines()] == vectorizer.encode(TEXTS)


def test_server(make, monkeypatch):
    pytest.importorskip("httpx")
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    file, expected = make()
    monkeypatch.syspath_prepend(RECIPES)
    monkeypatch.setenv("MODEL", str(file))
    monkeypatch.delitem(sys.modules, "classify", raising=False)
    monkeypatch.delitem(sys.modules, "server", raising=False)
    import server

    client = TestClient(server.app)
    answer = client.post("/classify", json={"texts": TEXTS})
    assert answer.status_code == 200
    assert [each["label"] for each in answer.json()] == [label for label, _ in expected]
    np.testing.assert_allclose([each["probability"] for each in answer.json()], [p for _, p in expected], atol=2e-6)
    assert client.post("/classify", json={"texts": []}).status_code == 422
