"""Models with additional word vectors: from a layer that reads the others, or from a function that reads the text."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm.models.bcn import BCN
from keras_slstm.models.encoders import build_encoder
from keras_slstm.models.esim import ESIM
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from keras_slstm.models.sequence_tagger import SequenceTagger
from tests.backend import BACKEND, EXACT, dtype_policy, to_numpy

# Composed of parts that are tested on all backends.
pytestmark = [pytest.mark.backends("tensorflow", "torch"), pytest.mark.ci_run("torch")]

TEXTS = ["a flight to rome", "my flight", "rome"]
PAIRS = [("a flight to rome", "my flight"), ("rome", "a flight"), ("", "rome my")]
TINY = {"units": 4, "embedding_dim": 3, "dropout": 0.0, "word_dropout": 0.0}


@keras.saving.register_keras_serializable(package="tests")
def spelled(sentences):
    """Return four values per word, from its letters, its position and the sentence length."""
    return [
        np.array([[len(word), ord(word[0]) - 100, place, len(tokens)] for place, word in enumerate(tokens)]) / 10
        for tokens in sentences
    ]


def cove():
    return keras.layers.GRU(4, return_sequences=True, dropout=0.5)


def classifier(contextual, kind=SentenceClassifier, eagerly=BACKEND == "tensorflow", **options):
    keras.utils.set_random_seed(1)
    # Vectors large enough for every part to have an effect.
    options = {**TINY, "embeddings_initializer": keras.initializers.RandomNormal(stddev=1.0), **options}
    model = kind(["no", "yes"], "bilstm", contextual=contextual, **options)
    model.adapt(PAIRS if isinstance(model, SentencePairClassifier) else TEXTS)
    # TensorFlow would take seconds to trace or compile each length.
    options = {"run_eagerly": eagerly, "jit_compile": BACKEND == "jax"}
    model.compile(keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", **options)
    return model


def test_encoder_reads_both_vectors_side_by_side():
    """Checks vectors of a layer that reads word vectors, and of a function that reads tokens."""
    with dtype_policy("float64"):
        model = classifier(cove())
        ids = np.array([[2, 3, 4], [5, 0, 0]], "int32")
        mask = ids != 0
        words = to_numpy(model.embedding(ids))
        x, found_mask = model.embed(ids)
        np.testing.assert_array_equal(to_numpy(found_mask), mask)
        expected = np.concatenate([words, to_numpy(model.contextual(words, mask=mask))], axis=-1)
        assert expected.shape == (2, 3, 3 + 4)
        np.testing.assert_allclose(to_numpy(x), expected, **EXACT)

        model = classifier(spelled, characters="cnn", character_units=2)
        inputs = model.batches(TEXTS[:1], shuffle=False, multiple_of=1)[0][0]
        x, _ = model.embed(inputs)
        assert x.shape == (1, 4, 3 + 2 + 4)
        np.testing.assert_allclose(to_numpy(x)[0, :, 5:], spelled([TEXTS[0].split()])[0], rtol=0, atol=1e-7)
        np.testing.assert_array_equal(to_numpy(x)[:, :, :3], to_numpy(model.embedding(inputs["words"])))


def test_a_layer_is_frozen_by_default():
    for trainable in (False, True):
        model = classifier(cove(), trainable_contextual=trainable)
        before = [to_numpy(weight).copy() for weight in model.contextual.weights]
        words = to_numpy(model.embedding.embeddings).copy()
        model.fit(TEXTS, ["no", "yes", "no"], verbose=0)
        moved = [np.max(np.abs(to_numpy(w) - b)) > 0 for w, b in zip(model.contextual.weights, before, strict=True)]
        assert all(moved) if trainable else not any(moved)
        assert np.max(np.abs(to_numpy(model.embedding.embeddings) - words)) > 0
        x, y = (to_numpy(model.embed(np.array([[2, 3, 4, 5]]), training=True)[0]) for _ in range(2))
        assert (np.max(np.abs(x - y)) > 0) == trainable  # its dropout


@pytest.mark.parametrize("contextual", ["layer", "function"])
@pytest.mark.parametrize("kind", [SentenceClassifier, BCN, SentencePairClassifier, ESIM])
@pytest.mark.short_run
def test_every_model_takes_and_saves_contextual_vectors(kind, contextual, tmp_path):
    if BACKEND == "jax" and kind in (BCN, ESIM):
        pytest.skip("their recurrences are compiled for minutes; the other two say the same")
    options = {"mlp_units": (3,)} if issubclass(kind, SentencePairClassifier) else {}
    traced = [(SentenceClassifier, "layer"), (SentencePairClassifier, "function")]
    eagerly = BACKEND == "tensorflow" and (kind, contextual) not in traced
    model = classifier(cove() if contextual == "layer" else spelled, kind, eagerly, **options)
    x = PAIRS if options else TEXTS
    model.fit(x, ["no", "yes", "no"], batch_size=2, verbose=0)
    expected = model.predict(x, verbose=0)
    assert np.all(np.isfinite(expected))
    # Also one by one: padding has no effect, and each sentence has its own vectors.
    for one, row in zip(x, expected, strict=True):
        (inputs,) = model.batches([one], shuffle=False, multiple_of=1)[0]
        np.testing.assert_allclose(to_numpy(model(inputs))[0], row, rtol=0, atol=1e-5)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(x, verbose=0), expected, atol=1e-6)
    assert loaded.contextual is spelled or not loaded.contextual.trainable
    # Other vectors must change the predictions.
    if contextual == "layer":
        for weight in loaded.contextual.weights:
            weight.assign(-to_numpy(weight))
    else:
        loaded.contextual = lambda sentences: [-vectors for vectors in spelled(sentences)]
    assert np.max(np.abs(loaded.predict(x, verbose=0) - expected)) > 1e-4


@pytest.mark.parametrize("contextual", ["layer", "function"])
def test_a_tagger_takes_and_saves_contextual_vectors(contextual, tmp_path):
    keras.utils.set_random_seed(1)
    model = SequenceTagger(
        ["O", "B-city"],
        "BIO",
        "bilstm",
        contextual=cove() if contextual == "layer" else spelled,
        character_units=2,
        **TINY,
    )
    sentences = [text.split() for text in TEXTS]
    model.adapt(sentences)
    inputs = model.batches(sentences[:1], shuffle=False, multiple_of=1)[0][0]
    x, _ = model.embed(inputs)
    assert x.shape == (1, 4, 3 + 2 + 4)
    if contextual == "function":
        np.testing.assert_allclose(to_numpy(x)[0, :, 5:], spelled(sentences[:1])[0], rtol=0, atol=1e-7)
    expected = model.predict(sentences)
    model.save(tmp_path / "model.keras")
    for one, other in zip(keras.saving.load_model(tmp_path / "model.keras").predict(sentences), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_an_unregistered_function_is_passed_again(tmp_path):
    def plain(sentences):
        return spelled(sentences)

    model = classifier(plain)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", custom_objects={"plain": plain})
    np.testing.assert_allclose(loaded.predict(TEXTS, verbose=0), model.predict(TEXTS, verbose=0), atol=1e-6)
    with pytest.raises((TypeError, ValueError), match="plain"):
        keras.saving.load_model(tmp_path / "model.keras")


def test_mixed_precision():
    for contextual in (cove(), spelled):
        model = classifier(contextual, dtype="mixed_bfloat16")
        x, _ = model.embed(model.batches(TEXTS, shuffle=False)[0][0])
        assert keras.backend.standardize_dtype(x.dtype) == "bfloat16"
        assert np.all(np.isfinite(model.predict(TEXTS, verbose=0)))


@pytest.mark.skipif(BACKEND != "tensorflow", reason="a SavedModel that takes strings is TensorFlow's")
@pytest.mark.parametrize("kind", [SentenceClassifier, SentencePairClassifier])
def test_export(kind, tmp_path):
    import tensorflow as tf

    x = TEXTS if kind is SentenceClassifier else PAIRS
    model = classifier(cove(), kind)
    model.export_text(str(tmp_path / "text"))
    served = tf.saved_model.load(str(tmp_path / "text")).signatures["serving_default"]
    columns = {"texts": x} if kind is SentenceClassifier else dict(zip(("first", "second"), zip(*x)))
    found = served(**{name: tf.constant(list(column)) for name, column in columns.items()})
    np.testing.assert_allclose(found["probabilities"], model.predict(x, verbose=0), atol=1e-5)

    model = classifier(spelled, kind)
    model.export(str(tmp_path / "plain"), verbose=False)
    batches = model.batches(x, shuffle=False)
    plain = tf.saved_model.load(str(tmp_path / "plain"))
    found = plain.serve(batches[0][0])
    np.testing.assert_allclose(batches.restore_order(found.numpy()), model.predict(x, verbose=0), atol=1e-5)
    with pytest.raises(ValueError, match="cannot export the Python function <function spelled"):
        model.export_text(str(tmp_path / "no"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"contextual": "cove"}, "`contextual` must be a Keras layer, a function or None, but got 'cove'"),
        ({"contextual": keras.layers.Dense(3)}, "`contextual` must take a `mask`"),
        (
            {"contextual": spelled, "trainable_contextual": True},
            "needs a Keras layer as `contextual`, but got <function",
        ),
        ({"trainable_contextual": True}, "needs a Keras layer as `contextual`, but got None"),
    ],
)
def test_invalid_contextual_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        SentenceClassifier(["no", "yes"], "bilstm", **TINY, **arguments)


@pytest.mark.parametrize(
    ("contextual", "message"),
    [
        (build_encoder("bilstm", 2), r"must return word vectors \(batch, time, features\), but .* \(None, 4\)"),
        (lambda sentences: [np.ones(3)], r"shape \(1, features\) for the 1 tokens \['a'\], but returned \(3,\)"),
    ],
)
def test_wrong_contextual_results_fail_in_adapt(contextual, message):
    model = SentenceClassifier(["no", "yes"], "bilstm", **TINY, contextual=contextual)
    with pytest.raises(ValueError, match=message):
        model.adapt(TEXTS)
