import json

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.layers.layer_stack import LayerStack
from keras_slstm.models.encoders import ENCODERS, build_encoder
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.text.text_vectorizer import TextVectorizer
from tests.processes import run_python

pytestmark = pytest.mark.short_run("tensorflow", "torch")  # JAX compiles each case, so only `--ci` runs them

LABELS = ["cancel", "book"]
BACKEND = keras.backend.backend()


def corpus(count=200, seed=0):
    """Return texts in which the verb decides the label, at any position among filler words."""
    generator = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(count):
        words = list(generator.choice(["a", "flight", "to", "Rome", "please", ",", "my"], generator.integers(2, 9)))
        label = str(generator.choice(LABELS))
        words.insert(generator.integers(len(words) + 1), label)
        texts.append(" ".join(words))
        labels.append(label)
    return texts, labels


def small(encoder="bilstm", compiled=True, **options):
    keras.utils.set_random_seed(1)
    options = {"units": 8, "embedding_dim": 8, "dropout": 0.1, **options}
    model = SentenceClassifier(LABELS, encoder=encoder, **options)
    model.adapt(corpus()[0])
    if compiled:
        # XLA would take seconds to compile for each length.
        jit = BACKEND == "jax"
        model.compile(
            keras.optimizers.Adam(0.02),
            loss="sparse_categorical_crossentropy",
            metrics=["accuracy"],
            jit_compile=jit,
        )
    return model


@pytest.fixture(scope="module")
def trained():
    model = small()
    history = model.fit(*corpus(), validation_data=corpus(40, seed=1), epochs=4, verbose=0)
    return model, history


@pytest.mark.short_run("tensorflow", "torch")
def test_learns_from_text_and_gives_label_names(trained):
    model, history = trained
    assert history.history["val_accuracy"][-1] > 0.95
    assert model.classify(["please cancel my flight", "book Rome"]) == ["cancel", "book"]
    assert model.evaluate(*corpus(40, seed=2), verbose=0)[1] > 0.95


def test_probabilities_are_in_the_order_of_the_texts(trained):
    model, _ = trained
    texts, _ = corpus(30, seed=3)
    texts.append("")  # one unknown word
    labels, probabilities = model.classify(texts, return_probabilities=True, batch_size=4)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert labels == [LABELS[i] for i in probabilities.argmax(axis=1)]
    # One at a time, without padding.
    single = [model(np.array([ids], "int32"))[0] for ids in model.vectorizer.encode(texts)]
    single = np.stack([keras.ops.convert_to_numpy(row) for row in single])
    np.testing.assert_allclose(probabilities, single, atol=1e-5)
    assert model.classify([]) == []


def test_saved_file_contains_vocabulary_and_labels(trained, tmp_path):
    model, _ = trained
    texts, _ = corpus(20, seed=4)
    expected = model.classify(texts, return_probabilities=True)[1]
    path = tmp_path / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path)
    assert loaded.labels == model.labels
    assert loaded.vectorizer.vocabulary == model.vectorizer.vocabulary
    np.testing.assert_allclose(loaded.classify(texts, return_probabilities=True)[1], expected, atol=1e-6)
    loaded.fit(*corpus(), epochs=1, verbose=0)  # the file contains the optimizer


@pytest.mark.skipif(BACKEND != "tensorflow", reason="the test itself starts the other two backends")
@pytest.mark.parametrize("other", [pytest.param("jax", marks=pytest.mark.ci_run()), "torch"])
@pytest.mark.short_run
def test_saved_file_predicts_the_same_on_another_backend(trained, tmp_path, other):
    pytest.importorskip(other)
    model, _ = trained
    texts, _ = corpus(5, seed=5)
    model.save(tmp_path / "model.keras")
    script = (
        "import sys, json, keras, keras_slstm\n"
        "model = keras.saving.load_model(sys.argv[1])\n"
        "print(json.dumps(model.classify(json.loads(sys.argv[2]), return_probabilities=True)[1].tolist()))"
    )
    result = run_python("-c", script, tmp_path / "model.keras", json.dumps(texts), KERAS_BACKEND=other)
    assert result.returncode == 0, result.stderr
    there = json.loads(result.stdout.splitlines()[-1])
    np.testing.assert_allclose(there, model.classify(texts, return_probabilities=True)[1], atol=1e-5)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="a SavedModel that takes strings is TensorFlow's")
def test_exported_model_takes_raw_strings(trained, tmp_path):
    import tensorflow as tf

    model, _ = trained
    texts = [*corpus(20, seed=6)[0], "", "Ünknown\u00a0words\u0085cancel!"]
    model.export_text(str(tmp_path / "served"))
    loaded = tf.saved_model.load(str(tmp_path / "served"))
    served = loaded.signatures["serving_default"](texts=tf.constant(texts))
    labels, probabilities = model.classify(texts, return_probabilities=True)
    np.testing.assert_allclose(served["probabilities"], probabilities, atol=1e-5)
    assert [label.decode() for label in served["label"].numpy()] == labels


@pytest.mark.skipif(BACKEND != "tensorflow", reason="a SavedModel that takes strings is TensorFlow's")
def test_plain_export_takes_word_ids(trained, tmp_path):
    import tensorflow as tf

    model, _ = trained
    ids = np.array([[3, 4, 0], [5, 0, 0]], "int32")
    model.export(tmp_path / "plain", verbose=False)
    served = tf.saved_model.load(str(tmp_path / "plain"))
    np.testing.assert_allclose(served.serve(ids), model(ids), atol=1e-5)


@pytest.mark.skipif(BACKEND == "tensorflow", reason="works on TensorFlow")
def test_text_export_names_the_backend_it_needs(trained, tmp_path):
    with pytest.raises(RuntimeError, match="KERAS_BACKEND=tensorflow"):
        trained[0].export_text(tmp_path / "served")


@pytest.mark.short_run("torch")
def test_ready_batches_and_weights():
    model = small()
    texts, labels = corpus(40)
    batches = model.batches(texts, labels, batch_size=8, seed=3)
    model.fit(batches, validation_data=model.batches(texts, labels, shuffle=False), epochs=1, verbose=0)
    assert int(model.optimizer.iterations) == 5
    loss = model.evaluate(texts, labels, verbose=0)[0]
    # Weights of zero take all but the first sentence out of the loss.
    one = model.evaluate(texts, labels, sample_weight=[40.0] + [0.0] * 39, batch_size=40, verbose=0)[0]
    first = model.evaluate(texts[:1], labels[:1], verbose=0)[0]
    assert one == pytest.approx(first, rel=1e-4)
    assert loss != pytest.approx(first, rel=1e-3)


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("encoder", list(ENCODERS))
@pytest.mark.parametrize("pooling", [None, "attention"])
def test_every_encoder_by_name(encoder, pooling):
    options = {"steps": 2} if encoder == "slstm" else {}
    model = small(encoder, pooling=pooling, encoder_options=options, compiled=False)
    padded = np.array([[2, 3, 4, 0, 0], [5, 6, 7, 8, 2]], "int32")
    both = keras.ops.convert_to_numpy(model(padded))
    alone = keras.ops.convert_to_numpy(model(padded[:1, :3]))
    np.testing.assert_allclose(both[:1], alone, atol=1e-5)  # padding changes nothing
    copy = SentenceClassifier.from_config(model.get_config())
    copy.build_from_config(model.get_build_config())
    copy.set_weights(model.get_weights())
    np.testing.assert_allclose(keras.ops.convert_to_numpy(copy(padded)), both, atol=1e-6)


def test_encoder_by_instance_and_its_options():
    model = small(keras.layers.GRU(6, return_sequences=True), pooling="max", compiled=False)
    assert model(np.array([[2, 3]], "int32")).shape == (1, 2)
    stack = build_encoder("stacked_bilstm", 4, num_layers=3)
    assert isinstance(stack, LayerStack)
    assert len(stack.layers) == 3
    assert stack.compute_output_shape((2, 5, 3)) == (2, 8)


@pytest.mark.ci_run("torch")
def test_stacked_layers_all_get_the_mask():
    x = np.random.default_rng(0).normal(size=(1, 4, 3)).astype("float32")
    mask = np.array([[True, True, False, False]])
    stack = build_encoder("stacked_bilstm", 4)
    by_mask = stack(x, mask=mask)
    cut = stack(x[:, :2], mask=mask[:, :2])
    np.testing.assert_allclose(keras.ops.convert_to_numpy(by_mask), keras.ops.convert_to_numpy(cut), atol=1e-6)


def test_word_dropout_acts_in_training_only():
    model = small(word_dropout=0.5, dropout=0.0, compiled=False)
    ids = np.array([[2, 3, 4, 5, 6, 0]] * 64, "int32")
    calm = keras.ops.convert_to_numpy(model(ids))
    assert np.ptp(calm, axis=0).max() == pytest.approx(0, abs=1e-6)
    noisy = keras.ops.convert_to_numpy(model(ids, training=True))
    assert len(np.unique(noisy[:, 0].round(6))) > 8  # of 32 ways to drop some of five words
    with pytest.raises(ValueError, match="word_dropout"):
        SentenceClassifier(LABELS, "bilstm", units=4, word_dropout=1.0)


@pytest.mark.ci_run("torch")
def test_hidden_layers_learn_and_are_saved(tmp_path):
    model = small("cnn", mlp_units=(12, 6), mlp_dropout=0.1, mlp_batch_norm=True)
    history = model.fit(*corpus(), validation_data=corpus(40, seed=1), epochs=6, verbose=0)
    assert history.history["val_accuracy"][-1] > 0.9
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    texts, _ = corpus(20, seed=4)
    np.testing.assert_allclose(loaded.predict(texts, verbose=0), model.predict(texts, verbose=0), atol=1e-6)
    ids = np.array([[2, 3, 0]], "int32")
    by_hand = model.head(model.mlp(model.encode(ids)))
    np.testing.assert_allclose(*map(keras.ops.convert_to_numpy, (model(ids), by_hand)), atol=1e-6)


def test_mixed_precision_keeps_probabilities_in_float32():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = small(compiled=False)
        assert keras.backend.standardize_dtype(model(np.array([[2, 3]], "int32")).dtype) == "float32"
    finally:
        keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": ["one"]}, "at least two"),
        ({"labels": ["a", "a"]}, "distinct"),
        ({"labels": "ab"}, "list of non-empty strings"),
        ({"labels": ["a", 1]}, "list of non-empty strings"),
        ({"encoder": "lstmm"}, "Unknown encoder 'lstmm'. Known encoders: slstm, lstm"),
        ({"encoder": 3}, "name or a Keras layer"),
        ({"encoder_options": {"stepz": 3}}, "stepz"),
        ({"encoder": keras.layers.LSTM(3), "encoder_options": {"steps": 3}}, "given by name"),
        ({"encoder": keras.layers.Dense(3)}, "must take a `mask`"),
        ({"pooling": "sum"}, "'sum'"),
        ({"dropout": 1.0}, "dropout"),
        ({"embedding_dim": 0}, "embedding_dim"),
        ({"vectorizer": {"tokenizer": "bpe"}}, "tokenizer"),
        ({"mlp_dropout": 0.5}, "need hidden layers"),
        ({"mlp_units": [0]}, "units"),
        ({"mlp_units": [3], "mlp_dropout": 1}, "mlp_dropout"),
    ],
)
def test_bad_arguments_fail_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        SentenceClassifier(**{"labels": LABELS, "units": 4, **arguments})


def test_bad_data_is_explained(trained):
    model, _ = trained
    with pytest.raises(ValueError, match=r"Unknown label 'kook' at position 1. Known labels: cancel, book"):
        model.fit(["a", "b"], ["book", "kook"])
    with pytest.raises(ValueError, match="`y` is missing"):
        model.fit(["a", "b"])
    with pytest.raises(ValueError, match="2 sentences, but 1 `labels`"):
        model.evaluate(["a", "b"], ["book"])
    with pytest.raises(ValueError, match="one string"):
        model.classify("a text")
    with pytest.raises(ValueError, match="already"):
        model.adapt(["a"])


def test_before_adapt():
    model = SentenceClassifier(LABELS, "bilstm", units=4)
    with pytest.raises(ValueError, match="adapt"):
        model.classify(["a text"])
    with pytest.raises(ValueError, match="adapt"):
        model(np.array([[2]], "int32"))


def test_encoder_output_must_match_the_pooling():
    for encoder, pooling, message in [
        (keras.layers.LSTM(3), "mean", "return word vectors"),
        (keras.layers.LSTM(3, return_sequences=True), None, "return sentence vectors"),
    ]:
        model = SentenceClassifier(LABELS, encoder, pooling=pooling)
        with pytest.raises(ValueError, match=message):
            model.adapt(["a text"])


@pytest.mark.ci_run("torch")
def test_a_ready_vectorizer():
    vectorizer = TextVectorizer(tokenizer="whitespace")
    vectorizer.set_vocabulary(["book", "cancel"])
    model = SentenceClassifier(LABELS, "bilstm", units=4, vectorizer=vectorizer)
    assert model.built
    assert model.embedding.input_dim == 4


def _tiny(**options):
    model = keras_slstm.SentenceClassifier(["no", "yes"], encoder="bilstm", units=2, embedding_dim=2, **options)
    model.adapt(["good day", "bad day"])
    model.compile("sgd", loss="sparse_categorical_crossentropy")
    return model


@pytest.mark.ci_run("torch")
def test_dtype_reaches_every_part_and_is_saved(tmp_path):
    model = _tiny(dtype="mixed_bfloat16")
    model.save(tmp_path / "model.keras")
    for one in (model, keras.saving.load_model(tmp_path / "model.keras")):
        assert {part.compute_dtype for part in (one.embedding, one.encoder, one.embedding_dropout)} == {"bfloat16"}
        assert one.head.compute_dtype == "float32"


@pytest.mark.ci_run("torch")
def test_class_weight_by_name_is_class_weight_by_id():
    losses = []
    for weight in ({"no": 3.0, "yes": 1.0}, {0: 3.0, 1: 1.0}, None):
        keras.utils.set_random_seed(0)
        model = _tiny(dropout=0.0)
        history = model.fit(["good day", "bad day"], ["yes", "no"], class_weight=weight, shuffle=False, verbose=0)
        losses.append(history.history["loss"][0])
    assert losses[0] == losses[1] != losses[2]
    with pytest.raises(ValueError, match="maybe"):
        model.fit(["good day"], ["yes"], class_weight={"maybe": 1.0}, verbose=0)


@pytest.mark.ci_run("torch")
def test_failed_adapt_can_be_repeated():
    model = keras_slstm.SentenceClassifier(["no", "yes"], encoder="bilstm", units=2, embedding_dim=2)
    with pytest.raises(ValueError, match="min_count"):
        model.adapt([])
    model.adapt(["good day"])


def test_no_texts_and_one_string():
    model = _tiny()
    assert model.predict([]).shape == (0, 2)
    for call in (model.predict, model.classify):
        with pytest.raises(ValueError, match="list"):
            call("good day")


@pytest.mark.short_run("torch")
def test_validation_data_may_be_a_list():
    model = _tiny()
    history = model.fit(["good day"], ["yes"], validation_data=[["bad day"], ["no"]], verbose=0).history
    assert "val_loss" in history


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("characters", ["cnn", "bilstm"])
def test_characters_are_used_and_saved(characters, tmp_path):
    """Two unknown words differ only in their characters."""
    model = small(characters=characters, character_units=6, character_dim=4)
    texts, labels = corpus(40)
    model.fit(texts, labels, epochs=1, verbose=0)
    probabilities = model.predict(["unseen flight", "unheard flight", ""], verbose=0)
    assert np.max(np.abs(probabilities[0] - probabilities[1])) > 1e-6
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.vectorizer.max_characters == 24
    np.testing.assert_allclose(
        loaded.predict(["unseen flight", "unheard flight", ""], verbose=0), probabilities, atol=1e-6
    )
    if BACKEND == "tensorflow":
        import tensorflow as tf

        model.export_text(str(tmp_path / "served"))
        served = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"]
        found = served(texts=tf.constant(["unseen flight", "unheard flight", ""]))
        np.testing.assert_allclose(found["probabilities"], probabilities, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"characters": "lstm"}, "`characters` must be one of"),
        ({"characters": "bilstm", "character_units": 5}, "even"),
        ({"characters": "cnn", "character_dim": 0}, "`character_dim` must be an integer of at least 1, but got 0"),
        ({"characters": "cnn", "vectorizer": {"max_characters": None}}, "`max_characters` is None"),
        ({"vectorizer": TextVectorizer(max_characters=9)}, "`max_characters` is 9"),
    ],
)
def test_invalid_characters_options(arguments, message):
    with pytest.raises(ValueError, match=message):
        SentenceClassifier(LABELS, "bilstm", units=4, **arguments)


@pytest.mark.ci_run("torch")
def test_learns_with_smoothed_labels_and_depths():
    """Trains the depth-adaptive GRN with the head of its paper (eq. 15)."""
    options = {"max_depth": 3, "depth_units": 4}
    model = small("depth_adaptive_grn", compiled=False, characters="cnn", encoder_options=options)
    assert model.head.kernel.shape[0] == 3 * 8
    loss = keras_slstm.SmoothedCrossentropy(0.1)
    model.compile(keras.optimizers.Adam(0.02), loss=loss, metrics=["accuracy"], jit_compile=BACKEND == "jax")
    model.fit(*corpus(), epochs=4, verbose=0)
    assert model.evaluate(*corpus(40, seed=2), verbose=0)[1] > 0.9
