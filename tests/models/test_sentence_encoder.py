"""The sentence vectors of trained models."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm.models import BCN, ESIM, SentenceClassifier, SentenceEncoder, SentencePairClassifier
from tests.backend import to_numpy

# Composed of parts that are tested on all backends.
pytestmark = [pytest.mark.backends("tensorflow", "torch"), pytest.mark.ci_run("torch")]

TEXTS = ["rome", "a flight to rome", "", "my flight to a rome or to a rome or rome", "my my"]
TINY = {"units": 2, "embedding_dim": 3}


def make(kind=SentenceClassifier, encoder="bilstm", **options):
    model = kind(["no", "yes"], encoder, **{**TINY, **options})
    model.adapt([(text, text) for text in TEXTS] if issubclass(kind, SentencePairClassifier) else TEXTS)
    return model


@pytest.mark.parametrize("kind", [SentenceClassifier, BCN, SentencePairClassifier])
def test_vectors_are_the_classifiers_features(kind):
    model = make(kind)
    found = SentenceEncoder(model, batch_size=2)(TEXTS)
    assert found.dtype == np.float32
    for text, vector in zip(TEXTS, found, strict=True):
        alone = to_numpy(model.encode(np.array(model.vectorizer.encode([text]), "int32")))
        np.testing.assert_allclose(vector, alone[0], rtol=0, atol=1e-6)


def test_characters_and_contextual_vectors_come_in():
    def ends(sentences):
        return [np.array([[ord(word[-1]) / 100] for word in tokens]) for tokens in sentences]

    model = make(characters="cnn", character_units=4, contextual=ends)
    (u, v), (w, x) = (SentenceEncoder(model)(texts) for texts in (["unseenx", "unseeny"], ["unseenx", "unheardx"]))
    np.testing.assert_allclose(u, w, atol=1e-6)
    assert np.max(np.abs(u - v)) > 1e-5
    assert np.max(np.abs(w - x)) > 1e-5


def test_each_call_uses_the_current_weights():
    model = make(dropout=0.5)
    encode = SentenceEncoder(model)
    before = encode(TEXTS)
    np.testing.assert_array_equal(encode(TEXTS), before)  # no dropout
    model.embedding.embeddings.assign(2 * to_numpy(model.embedding.embeddings))
    assert np.max(np.abs(encode(TEXTS) - before)) > 1e-4


def test_half_precision_gives_float32():
    assert SentenceEncoder(make(dtype="mixed_bfloat16"))(TEXTS).dtype == np.float32


def test_other_models_have_no_sentence_vectors():
    with pytest.raises(ValueError, match="must encode sentences as vectors, but got a ESIM"):
        SentenceEncoder(make(ESIM))
    with pytest.raises(ValueError, match="but got a Dense"):
        SentenceEncoder(keras.layers.Dense(2))
