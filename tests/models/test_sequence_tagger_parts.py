"""The parts of `SequenceTagger`: encoder, characters, word vectors and head."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.models.encoders import ENCODERS
from keras_slstm.models.sequence_tagger import SequenceTagger
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.word_vectors import WordVectors
from tests.models.test_sequence_tagger import BACKEND, LABELS, corpus, probabilities_one_by_one, small

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("encoder", list(ENCODERS))
@pytest.mark.parametrize("characters", ["cnn", "bilstm", None])
def test_every_encoder_and_kind_of_characters(encoder, characters, tmp_path):
    if characters != "cnn" and encoder != "slstm":
        pytest.skip("one encoder is enough")
    options = {"steps": 2} if encoder == "slstm" else {}
    model = small(encoder, characters=characters, encoder_options=options, compiled=False)
    sentences = corpus(6)[0]
    for one, other in zip(model.predict(sentences), probabilities_one_by_one(model, sentences)):
        np.testing.assert_allclose(one, other, atol=1e-5)  # padding changes nothing
    copy = SequenceTagger.from_config(model.get_config())
    copy.build_from_config(model.get_build_config())
    copy.set_weights(model.get_weights())
    model.vectorizer.save_assets(str(tmp_path))
    copy.vectorizer.load_assets(str(tmp_path))
    assert copy.tag(sentences) == model.tag(sentences)


@pytest.mark.ci_run("torch")
def test_characters_are_used():
    """Two unknown words differ only in their characters."""
    model = small(compiled=False)
    one, other = (model.predict([[word, "to"]])[0] for word in ("Bergen", "1234"))
    assert np.abs(one - other).max() > 1e-4
    model = small(compiled=False, characters=None)
    one, other = (model.predict([[word, "to"]])[0] for word in ("Bergen", "1234"))
    np.testing.assert_array_equal(one, other)


@pytest.mark.ci_run("torch")
def test_encoder_by_instance():
    model = small(keras.layers.GRU(6, return_sequences=True), compiled=False)
    assert model.predict([["Ada"]])[0].shape == (1, 5)


class Forgetful(keras.layers.Layer):
    """An encoder that takes a mask but does not pass it on."""

    def call(self, inputs, mask=None):
        return inputs[..., :6]

    def compute_mask(self, inputs, mask=None):
        return None


def test_the_head_gets_the_mask_even_if_the_encoder_drops_it():
    model = small(Forgetful(), compiled=False)
    for variable in model.head_layer.trainable_variables:
        variable.assign(np.random.default_rng(0).normal(size=variable.shape))
    sentences = corpus(6)[0]
    for one, other in zip(model.predict(sentences), [model.predict([tokens])[0] for tokens in sentences]):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    ids = model.vectorizer.encode([["Ada"]])[0]
    padded = {"words": np.array([ids + [0, 0]], "int32"), "characters": np.zeros((1, 3, 8), "int32")}
    bare = {name: array[:, :1] for name, array in padded.items()}
    scores = [keras.ops.convert_to_numpy(keras_slstm.crf_log_partition(model(x))) for x in (bare, padded)]
    np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-5)


@pytest.mark.ci_run("torch")
def test_pairwise_features_learn_and_are_saved(tmp_path):
    model = small(head_options={"pairwise": True})
    sentences, labels = corpus(60)
    losses = model.fit(sentences, labels, epochs=8, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]
    model.save(tmp_path / "model.keras")
    assert keras.saving.load_model(tmp_path / "model.keras").tag(sentences) == model.tag(sentences)


@pytest.mark.ci_run("torch")
def test_options_of_the_head():
    model = small(head_options={"use_boundary": False}, compiled=False)
    assert not hasattr(model.head_layer, "left_boundary")
    copy = SequenceTagger.from_config(model.get_config())
    assert copy.head_layer.use_boundary is False
    dense = small(head="softmax", head_options={"kernel_regularizer": "l2"}, compiled=False)
    assert dense.losses


@pytest.mark.ci_run("torch")
def test_word_vectors_from_elsewhere():
    vectors = WordVectors(["Oslo", "bergen"], np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32"))
    model = SequenceTagger(LABELS, "BIO", "bilstm", units=4, embedding_dim=3)
    model.adapt([["Ada", "flies", "to", "Oslo"]], vectors)
    [[oslo, bergen, unknown]] = model.vectorizer.encode([["OSLO", "Bergen", "Paris"]])
    matrix = keras.ops.convert_to_numpy(model.embedding.embeddings)
    np.testing.assert_array_equal(matrix[[oslo, bergen]], vectors.matrix)
    assert unknown == 1
    with pytest.raises(ValueError, match="`embedding_dim` must be 2, the size of the vectors, but got 3"):
        SequenceTagger(LABELS, "BIO", "bilstm", units=4, embedding_dim=3).adapt(
            [["Ada"]], WordVectors(["a"], np.zeros((1, 2)))
        )


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_dtype_reaches_every_part_and_is_saved(policy, tmp_path):
    model = small(dtype=policy, compiled=False)
    model.save(tmp_path / "model.keras")
    compute = "float64" if policy == "float64" else policy.removeprefix("mixed_")
    for one in (model, keras.saving.load_model(tmp_path / "model.keras")):
        spelled = one.character_vectors
        parts = (one.embedding, one.encoder, one.embedding_dropout, spelled.over_characters, spelled.embedding)
        assert {part.compute_dtype for part in parts} == {compute}
        assert one.head_layer.compute_dtype == ("float64" if policy == "float64" else "float32")
    if policy != "float64" or BACKEND != "jax":
        assert all(np.all(np.isfinite(p)) for p in model.predict(corpus(5)[0]))


@pytest.mark.skipif(BACKEND == "torch", reason="compiles nothing")
@pytest.mark.short_run
def test_trains_in_half_precision_compiled():
    model = small("slstm", dtype="mixed_bfloat16", compiled=False, encoder_options={"steps": 2}, characters=None)
    model.compile(keras.optimizers.Adam(0.03), jit_compile=True)
    sentences, labels = corpus(64)
    options = {"batch_size": 32, "epochs": 3, "verbose": 0}
    batches = model.batches(sentences, labels, batch_size=32, multiple_of=8)
    losses = model.fit(batches, **{k: v for k, v in options.items() if k != "batch_size"}).history["loss"]
    assert losses[-1] < losses[0]


def test_encoder_output_has_to_be_word_vectors():
    model = SequenceTagger(LABELS, "BIO", keras.layers.LSTM(3))
    for _ in range(2):  # nothing is left of the failed attempt
        with pytest.raises(ValueError, match="must return word vectors"):
            model.adapt([["a"]])


@pytest.mark.ci_run("torch")
def test_a_ready_vectorizer():
    vectorizer = TokenVectorizer(lowercase=False)
    vectorizer.adapt([["Ada"]])
    model = SequenceTagger(LABELS, "BIO", "bilstm", units=4, vectorizer=vectorizer)
    assert model.built
    assert model.embedding.input_dim == 3


def test_before_adapt():
    model = SequenceTagger(LABELS, "BIO", "bilstm", units=4)
    with pytest.raises(ValueError, match="adapt"):
        model.tag([["Ada"]])
    with pytest.raises(ValueError, match="adapt"):
        model({"words": np.array([[2]], "int32")})
