from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.models import save_for_inference

TEXTS = ["book a room", "cancel it"]
LABELS = ["book", "cancel"]
JIT = keras.backend.backend() == "jax"


@pytest.fixture(scope="module")
def model():
    model = keras_slstm.SentenceClassifier(LABELS, encoder="lstm", units=16, embedding_dim=16)
    model.adapt(TEXTS)
    model.compile("adam", jit_compile=JIT)
    model.fit(TEXTS, LABELS, verbose=0)
    return model


@pytest.mark.short_run
def test_an_inference_model_has_no_optimizer(model, tmp_path):
    model.save(tmp_path / "whole.keras")
    save_for_inference(model, tmp_path / "use.keras")
    assert (tmp_path / "use.keras").stat().st_size < 0.6 * (tmp_path / "whole.keras").stat().st_size
    loaded = keras.saving.load_model(tmp_path / "use.keras")
    assert not loaded.compiled
    np.testing.assert_allclose(loaded.predict(TEXTS, verbose=0), model.predict(TEXTS, verbose=0), atol=1e-6)
    loaded.compile("adam", jit_compile=JIT)
    loaded.fit(TEXTS, LABELS, verbose=0)
    steps = int(model.optimizer.iterations)
    model.fit(TEXTS, LABELS, verbose=0)  # it kept its optimizer
    assert int(model.optimizer.iterations) == steps + 1


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a SavedModel that takes strings is TensorFlow's")
@pytest.mark.parametrize("kind", ["classifier", "pairs", "tagger"])
def test_the_saved_model_contains_the_labels(kind, model, tmp_path):
    import tensorflow as tf

    small = {"encoder": "lstm", "units": 2, "embedding_dim": 2}
    if kind == "pairs":
        model = keras_slstm.SentencePairClassifier(LABELS, **small)
        model.adapt([("book a room", "cancel it")])
    if kind == "tagger":
        model = keras_slstm.SequenceTagger(LABELS, **small)
        model.adapt([["a", "room"]])
    path = tmp_path / "served"
    model.export_tokens(str(path)) if kind == "tagger" else model.export_text(str(path))
    signatures = tf.saved_model.load(str(path)).signatures
    assert [label.decode() for label in signatures["labels"]()["labels"].numpy()] == LABELS
    assert (path / "assets.extra" / "labels.txt").read_text(encoding="utf-8").splitlines() == LABELS
    assert "serving_default" in signatures
