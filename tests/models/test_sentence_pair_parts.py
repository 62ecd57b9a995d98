"""The parts of `SentencePairClassifier`: encoder, characters and word vectors."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm.models.encoders import ENCODERS
from keras_slstm.models.esim import ESIM
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.text.word_vectors import WordVectors
from tests.backend import BACKEND, to_numpy
from tests.models.test_sentence_pair_classifier import LABELS, corpus, small

pytestmark = pytest.mark.ci_run("tensorflow", "torch")  # shares its text model with `SentenceClassifier`


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("encoder", list(ENCODERS))
@pytest.mark.parametrize("pooling", [None, "attention"])
def test_every_encoder_by_name_and_padding_changes_nothing(encoder, pooling):
    options = {"steps": 2} if encoder == "slstm" else {}
    model = small(encoder, pooling=pooling, encoder_options=options, compiled=False)
    ids = np.array([[[2, 3, 4, 0, 0], [5, 0, 0, 0, 0]], [[5, 6, 7, 8, 2], [3, 4, 0, 0, 0]]], "int32")
    both = to_numpy(model(ids))
    alone = to_numpy(model(ids[:1, :, :3]))
    np.testing.assert_allclose(both[:1], alone, atol=1e-5)
    copy = SentencePairClassifier.from_config(model.get_config())
    copy.build_from_config(model.get_build_config())
    copy.set_weights(model.get_weights())
    np.testing.assert_allclose(to_numpy(copy(ids)), both, atol=1e-6)


@pytest.mark.ci_run("torch")
def test_word_vectors_and_fixed_ones():
    keras.utils.set_random_seed(0)
    vectors = WordVectors(["rome", "oslo", "never"], np.arange(12, dtype="float32").reshape(3, 4))
    model = SentencePairClassifier(LABELS, "bilstm", units=4, embedding_dim=4, trainable_embeddings=False)
    model.adapt([("Rome a", "Oslo b")], vectors)
    model.compile("adam", jit_compile=BACKEND == "jax")
    model.fit([("Rome a", "Oslo b")] * 4, ["same", "other"] * 2, verbose=0)
    table = to_numpy(model.embedding.embeddings)
    for word, row in zip(vectors.words, vectors.matrix):
        np.testing.assert_array_equal(table[model.vectorizer.vocabulary.index(word)], row)
    with pytest.raises(ValueError, match="`embedding_dim` must be 4, the size of the vectors, but got 3"):
        SentencePairClassifier(LABELS, "bilstm", units=4, embedding_dim=3).adapt([("a", "b")], vectors)


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_dtypes_reach_every_part_and_train(dtype, tmp_path):
    if dtype == "float64" and BACKEND == "jax":
        pytest.skip("needs x64 for the whole process")
    model = small(dtype=dtype, mlp_dropout=0.1, dropout=0.1)
    compute = keras.DTypePolicy(dtype).compute_dtype
    assert {part.compute_dtype for part in (model.embedding, model.encoder, model.mlp)} == {compute}
    assert model.head.compute_dtype == ("float64" if dtype == "float64" else "float32")
    history = model.fit(*corpus(64), epochs=1, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.mlp.compute_dtype == compute
    np.testing.assert_allclose(
        loaded.predict(corpus(5)[0], verbose=0), model.predict(corpus(5)[0], verbose=0), atol=1e-6
    )


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("kind", [SentencePairClassifier, ESIM])
def test_characters_are_used_and_saved(kind, tmp_path):
    """Two unknown words differ in their characters only, on either side of a pair."""
    if BACKEND == "jax" and kind is ESIM:
        pytest.skip("its recurrences are compiled for minutes; the other one says the same")
    keras.utils.set_random_seed(1)
    sizes = {"units": 4, "embedding_dim": 3, "mlp_units": (3,), "character_dim": 4, "character_units": 6}
    model = kind(LABELS, "bilstm", characters="cnn", **sizes)
    pairs = [
        ("to unseen", "Rome"),
        ("to unheard", "Rome"),
        ("to Rome", "unseen flights"),
        ("to Rome", "unheard flights"),
    ]
    model.adapt(corpus(20)[0])
    for variable in model.character_vectors.trainable_variables:
        variable.assign(np.random.default_rng(0).normal(size=variable.shape))
    probabilities = model.predict(pairs, verbose=0)
    assert np.max(np.abs(probabilities[0] - probabilities[1])) > 1e-6
    assert np.max(np.abs(probabilities[2] - probabilities[3])) > 1e-6
    for pair, row in zip(pairs, probabilities):
        np.testing.assert_allclose(model.predict([pair], verbose=0)[0], row, atol=1e-5)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(pairs, verbose=0), probabilities, atol=1e-6)
    if BACKEND == "tensorflow":
        import tensorflow as tf

        model.export_text(str(tmp_path / "served"))
        first, second = (tf.constant(texts) for texts in zip(*pairs))
        served = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"](first=first, second=second)
        np.testing.assert_allclose(served["probabilities"], probabilities, atol=1e-5)
