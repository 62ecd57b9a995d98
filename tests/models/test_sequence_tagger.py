import json

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.models.sequence_tagger import FoundSpan, SequenceTagger
from keras_slstm.text.tag_schemes import check_tags, convert_tags
from tests.processes import run_python

pytestmark = pytest.mark.short_run("torch")

LABELS = ["O", "B-city", "I-city", "B-name", "I-name"]
BACKEND = keras.backend.backend()
CITIES = [["New", "York"], ["Oslo"], ["Los", "Angeles"], ["Rome"]]
NAMES = [["Ada"], ["Max", "Born"]]


def corpus(count=150, seed=0):
    """Cities and names, of one or two words, among fillers."""
    generator = np.random.default_rng(seed)
    sentences, labels = [], []
    for _ in range(count):
        tokens, tags = [], []
        for _ in range(generator.integers(1, 5)):
            kind = generator.integers(4)
            if kind < 2:
                words = [["to", "from", "please", "fly"][generator.integers(4)]]
                tags += ["O"]
            else:
                options = CITIES if kind == 2 else NAMES
                words = options[generator.integers(len(options))]
                slot = "city" if kind == 2 else "name"
                tags += [f"{'I' if i else 'B'}-{slot}" for i in range(len(words))]
            tokens += words
        sentences.append(tokens)
        labels.append(tags)
    return sentences, labels


def small(encoder="bilstm", compiled=True, **options):
    keras.utils.set_random_seed(1)
    options = {
        "scheme": "BIO", "units": 8, "embedding_dim": 8, "character_dim": 4, "character_units": 6, "dropout": 0.1,
        **options,
    }  # fmt: skip
    model = SequenceTagger(options.pop("labels", LABELS), encoder=encoder, **options)
    model.adapt(corpus()[0])
    if compiled:
        # XLA would take seconds to compile for each length.
        model.compile(keras.optimizers.Adam(0.03), jit_compile=BACKEND == "jax")
    return model


def probabilities_one_by_one(model, sentences):
    return [model.predict([tokens])[0] for tokens in sentences]


@pytest.fixture(scope="module", params=["crf", "softmax"])
def trained(request):
    model = small(head=request.param)
    sentences, labels = corpus()
    history = model.fit(sentences, labels, validation_data=corpus(30, seed=1), epochs=4, verbose=0)
    return model, history


def test_progress_counts_the_sentences(trained, capsys):
    model, _ = trained
    sentences = [["fly", "to", "New", "York"], [], ["Max", "Born"]]
    quiet = model.tag(sentences)
    assert capsys.readouterr().out == ""
    assert model.tag(sentences, verbose=1) == quiet
    assert "2/2" in capsys.readouterr().out  # a sentence without a word takes no time
    model.find_spans(sentences, verbose=1)
    assert "2/2" in capsys.readouterr().out


def test_learns_and_gives_label_names(trained):
    model, history = trained
    assert history.history["val_accuracy"][-1] > 0.95
    assert model.tag([["fly", "to", "New", "York"], ["Max", "Born"]]) == [
        ["O", "O", "B-city", "I-city"],
        ["B-name", "I-name"],
    ]
    sentences, labels = corpus(30, seed=2)
    right = [a == b for x, y in zip(model.tag(sentences), labels) for a, b in zip(x, y)]
    assert model.evaluate(sentences, labels, verbose=0)[1] == pytest.approx(np.mean(right), abs=1e-6)


def test_spans_with_confidence(trained):
    model, _ = trained
    [[span, other], [], []] = model.find_spans([["Ada", "to", "Los", "Angeles"], [], ["fly", "to"]])
    assert span == FoundSpan("name", 0, 1, span.confidence)
    assert other[:3] == ("city", 2, 4)
    _, [confidence] = model.tag([["Ada", "to", "Los", "Angeles"]], return_confidence=True)
    assert span.confidence == pytest.approx(confidence[0])
    assert other.confidence == pytest.approx(min(confidence[2:]))
    assert 0.5 < other.confidence <= 1
    if model.head == "softmax":
        with pytest.raises(ValueError, match="needs head='crf'"):
            model.find_spans([["Ada"]], whole=True)
        return
    [[_, whole], [], []] = model.find_spans([["Ada", "to", "Los", "Angeles"], [], ["fly", "to"]], whole=True)
    assert whole[:3] == other[:3]
    assert 0.5 * other.confidence < whole.confidence < other.confidence + 1e-6


def test_probabilities_are_in_the_order_of_the_sentences_whatever_the_batch(trained):
    model, _ = trained
    sentences, _ = corpus(21, seed=3)
    sentences[4] = []
    sentences[7] = ["unknown", "Wörter", "x" * 100]
    found = model.predict(sentences, batch_size=4)
    assert [p.shape for p in found] == [(len(tokens), 5) for tokens in sentences]
    for one, other in zip(found, probabilities_one_by_one(model, sentences)):
        np.testing.assert_allclose(one, other, atol=1e-5)
        np.testing.assert_allclose(one.sum(axis=-1), 1, atol=1e-5)
    tags, confidence = model.tag(sentences, return_confidence=True, batch_size=5)
    for names, sure, p in zip(tags, confidence, found):
        np.testing.assert_allclose([row[LABELS.index(name)] for name, row in zip(names, p)], sure, atol=1e-5)
    assert model.tag([]) == []
    assert model.predict([]) == []
    assert model.find_spans([[]]) == [[]]


def test_crf_probabilities_match_the_enumeration_of_all_sequences():
    """Enumerates all label sequences with the potentials of an untrained tagger."""
    import itertools

    model = small(compiled=False)
    for variable in model.head_layer.trainable_variables:
        variable.assign(np.random.default_rng(0).normal(size=variable.shape))
    tokens = ["Ada", "to", "Rome"]
    x = {
        "words": np.array(model.vectorizer.encode([tokens]), "int32"),
        "characters": np.zeros((1, 3, 8), "int32"),
    }
    for i, word in enumerate(model.vectorizer.encode_characters([tokens])[0]):
        x["characters"][0, i, : len(word)] = word
    output = model(x)
    scores = {
        y: float(keras.ops.convert_to_numpy(keras_slstm.crf_sequence_score(output, np.array([y])))[0])
        for y in itertools.product(range(5), repeat=3)
    }
    weights = {y: np.exp(score) for y, score in scores.items()}
    expected = np.zeros((3, 5))
    for y, weight in weights.items():
        for word, label in enumerate(y):
            expected[word, label] += weight / sum(weights.values())
    np.testing.assert_allclose(model.predict([tokens])[0], expected, atol=1e-5)
    assert model.tag([tokens]) == [[LABELS[i] for i in max(scores, key=scores.get)]]


def test_predictions_follow_the_scheme():
    model = small(compiled=False)
    for variable in model.head_layer.trainable_variables:
        variable.assign(3 * np.random.default_rng(0).normal(size=variable.shape))
    for tags in model.tag(corpus(40, seed=5)[0]):
        check_tags(tags, "BIO")


def test_saved_file_contains_everything(trained, tmp_path):
    model, _ = trained
    sentences, labels = corpus(20, seed=4)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert (loaded.labels, loaded.scheme) == (model.labels, model.scheme)
    assert loaded.vectorizer.vocabulary == model.vectorizer.vocabulary
    assert loaded.vectorizer.characters == model.vectorizer.characters
    for one, other in zip(loaded.predict(sentences), model.predict(sentences)):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert loaded.tag(sentences) == model.tag(sentences)
    # Loss, metrics and the optimizer with its state came with it.
    assert loaded.evaluate(sentences, labels, verbose=0) == pytest.approx(model.evaluate(sentences, labels, verbose=0))
    for one, other in zip(loaded.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(*map(keras.ops.convert_to_numpy, (one, other)))
    loaded.fit(sentences, labels, epochs=1, verbose=0)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="the test itself starts the other two backends")
@pytest.mark.parametrize(
    ("trained", "other"),
    [("crf", "jax"), pytest.param("softmax", "torch", marks=pytest.mark.ci_run())],
    indirect=["trained"],
)
@pytest.mark.short_run
def test_saved_file_tags_the_same_on_another_backend(trained, tmp_path, other):
    pytest.importorskip(other)
    model, _ = trained
    sentences, _ = corpus(5, seed=5)
    model.save(tmp_path / "model.keras")
    script = (
        "import sys, json, keras, keras_slstm\n"
        "model = keras.saving.load_model(sys.argv[1])\n"
        "tags, confidence = model.tag(json.loads(sys.argv[2]), return_confidence=True)\n"
        "print(json.dumps([tags, [row.tolist() for row in confidence]]))"
    )
    result = run_python("-c", script, tmp_path / "model.keras", json.dumps(sentences), KERAS_BACKEND=other)
    assert result.returncode == 0, result.stderr
    tags, confidence = json.loads(result.stdout.splitlines()[-1])
    expected, sure = model.tag(sentences, return_confidence=True)
    assert tags == expected
    for one, other_row in zip(confidence, sure):
        np.testing.assert_allclose(one, other_row, atol=1e-5)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="a SavedModel that takes strings is TensorFlow's")
def test_exported_model_takes_tokens(trained, tmp_path):
    import tensorflow as tf

    model, _ = trained
    sentences = [*corpus(10, seed=6)[0], ["Ünknown", "NEW", "york", "x" * 60]]
    time = max(map(len, sentences))
    model.export_tokens(str(tmp_path / "served"))
    served = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"]
    padded = tf.constant([tokens + [""] * (time - len(tokens)) for tokens in sentences])
    found = served(tokens=padded)
    tags, confidence = model.tag(sentences, return_confidence=True)
    for tokens, names, sure, row, numbers in zip(
        sentences, tags, confidence, found["labels"].numpy(), found["confidence"].numpy()
    ):
        assert [name.decode() for name in row] == names + [""] * (time - len(tokens))
        np.testing.assert_allclose(numbers[: len(tokens)], sure, atol=1e-5)
        assert not np.any(numbers[len(tokens) :])


@pytest.mark.skipif(BACKEND != "tensorflow", reason="a SavedModel that takes strings is TensorFlow's")
def test_plain_export_takes_ids(trained, tmp_path):
    import tensorflow as tf

    model, _ = trained
    [inputs] = model.batches(corpus(4)[0])[0]
    model.export(tmp_path / "plain", verbose=False)
    served = tf.saved_model.load(str(tmp_path / "plain"))
    np.testing.assert_allclose(served.serve({k: tf.constant(v) for k, v in inputs.items()}), model(inputs), atol=1e-5)


@pytest.mark.skipif(BACKEND == "tensorflow", reason="works on TensorFlow")
def test_export_of_tokens_names_the_backend_it_needs(trained, tmp_path):
    with pytest.raises(RuntimeError, match="KERAS_BACKEND=tensorflow"):
        trained[0].export_tokens(tmp_path / "served")


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_padding_changes_no_loss(head):
    """The loss of a batch with two lengths follows from the losses of the single sentences."""
    model = small(head=head, dropout=0.0)
    short, long = [["Ada"], ["B-name"]], [["fly", "to", "New", "York"], ["O", "O", "B-city", "I-city"]]
    losses = [model.evaluate([tokens], [tags], verbose=0)[0] for tokens, tags in (short, long)]
    both = model.evaluate([short[0], long[0]], [short[1], long[1]], verbose=0)[0]
    weights = [0.5, 0.5] if head == "crf" else [1 / 5, 4 / 5]  # sentences, or words
    assert both == pytest.approx(np.dot(weights, losses), rel=1e-4)


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_sentences_may_be_partly_labelled(head):
    model = small(head=head, dropout=0.0)
    tokens = [["Ada", "to", "Rome"]]
    whole, part, nothing = (
        model.evaluate(tokens, [labels], return_dict=True, verbose=0)
        for labels in (["B-name", "O", "B-city"], ["B-name", None, "B-city"], [None, None, None])
    )
    if head == "crf":
        assert 0 < part["loss"] < whole["loss"]
        assert nothing["loss"] == pytest.approx(0, abs=1e-5)
    p = model.predict(tokens)[0]
    if head == "softmax":
        assert part["loss"] == pytest.approx(-np.mean([np.log(p[0, 3]), np.log(p[2, 1])]), rel=1e-4)
    best = [LABELS.index(name) for name in model.tag(tokens)[0]]
    assert part["accuracy"] == pytest.approx(np.mean([best[0] == 3, best[2] == 1]))


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_weights_of_sentences(head):
    model = small(head=head, dropout=0.0)
    sentences, labels = corpus(8)
    # The mean is over sentences, or over words.
    weights = [8.0 if head == "crf" else sum(map(len, sentences)) / len(sentences[0])] + [0.0] * 7
    weighted = model.evaluate(sentences, labels, sample_weight=weights, batch_size=8, verbose=0)[0]
    assert weighted == pytest.approx(model.evaluate(sentences[:1], labels[:1], verbose=0)[0], rel=1e-4)


def test_word_dropout_acts_in_training_only():
    model = small(word_dropout=0.5, dropout=0.0, characters=None, head="softmax", compiled=False)
    ids = {"words": np.array([[2, 3, 4, 5, 6, 0]] * 64, "int32")}
    calm = keras.ops.convert_to_numpy(model(ids))
    assert np.ptp(calm, axis=0).max() == pytest.approx(0, abs=1e-6)
    noisy = keras.ops.convert_to_numpy(model(ids, training=True))
    assert len(np.unique(noisy[:, 0, 0].round(6))) > 8  # of 32 ways to drop some of five words


@pytest.mark.skipif(BACKEND != "tensorflow", reason="MirroredStrategy is TensorFlow's")
@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.short_run
def test_two_replicas_learn_the_same_as_one(head):
    import tensorflow as tf

    def weights():
        model = small(head=head, dropout=0.0, word_dropout=0.0, compiled=False)
        model.compile(keras.optimizers.SGD(0.1), jit_compile=False)
        tokens = [["Ada", "flies"], ["to", "Oslo"], ["from", "Rome"], ["fly", "please"]]
        tags = [["B-name", "O"], ["O", "B-city"], ["O", "B-city"], ["O", "O"]]
        model.fit(model.batches(tokens, tags, batch_size=4, shuffle=False), epochs=2, verbose=0)
        return model.get_weights()

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], tf.distribute.ReductionToOneDevice())
    expected = weights()
    with strategy.scope():
        found = weights()
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": ["O"]}, "at least two"),
        ({"labels": ["O", "O"]}, "distinct"),
        ({"labels": "OB"}, "list of non-empty strings"),
        ({"labels": ["O", "NOUN"]}, "NOUN"),
        ({"scheme": "IOB3"}, "IOB3"),
        ({"encoder": "lstmm"}, "Unknown encoder 'lstmm'"),
        ({"encoder": 3}, "name or a Keras layer"),
        ({"encoder_options": {"stepz": 3}}, "stepz"),
        ({"encoder": keras.layers.LSTM(3), "encoder_options": {"steps": 3}}, "given by name"),
        ({"encoder": keras.layers.Dense(3)}, "must take a `mask`"),
        ({"head": "hmm"}, "`head` must be one of"),
        ({"head_options": {"unit": 3}}, "unit"),
        ({"characters": "lstm"}, "`characters` must be one of"),
        ({"characters": "bilstm", "character_units": 5}, "even"),
        ({"dropout": 1.0}, "dropout"),
        ({"word_dropout": -0.1}, "word_dropout"),
        ({"embedding_dim": 0}, "embedding_dim"),
        ({"character_dim": 2.5}, "character_dim"),
        ({"vectorizer": {"min_count": 0}}, "min_count"),
    ],
)
def test_bad_arguments_fail_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        SequenceTagger(**{"labels": LABELS, "scheme": "BIO", "units": 4, **arguments})


def test_bad_data_is_explained(trained):
    model, _ = trained
    sentences = [["Ada"], ["to", "Rome"]]
    for labels, message in [
        ([["B-name"], ["O", "B-town"]], r"Unknown label 'B-town' of word 1 in sentence 1\. Known labels: O, B-city"),
        ([["B-name"], ["O", "I-city"]], r'sentence 1 violate the scheme: word 1: "I-city" continues a span'),
        ([["B-name"], ["O"]], "Sentence 1 has 2 words, but 1 `labels`"),
        ([["B-name"]], "2 sentences, but 1 `labels`"),
        ([["B-name"], "O"], "labels of sentence 1 must be a list of names, but are 'O'"),
        (None, "`y` is missing"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(sentences, labels, verbose=0)
    with pytest.raises(ValueError, match="2 sentences, but 1 `sample_weight`"):
        model.evaluate(sentences, [["O"], ["O", "O"]], sample_weight=[1.0])
    for call in (model.tag, model.predict, model.find_spans):
        with pytest.raises(ValueError, match="each a list of tokens"):
            call("Ada")
        with pytest.raises(ValueError, match="Sentence 0 must be a list of tokens, but is 'Ada'"):
            call(["Ada"])
    with pytest.raises(ValueError, match="already"):
        model.adapt([["a"]])


@pytest.mark.ci_run("torch")
def test_partly_known_labels_must_be_possible():
    model = SequenceTagger(["O", "B-x", "I-x", "E-x", "S-x", "B-y", "I-y", "E-y", "S-y"], "BIOES", "bilstm", units=2)
    model.adapt([["a"]])

    def batches(tags):
        names = [None if tag == "?" else tag for tag in tags.split()]
        return model.batches([["a"] * len(names)], [names])

    for tags in ("? ? ?", "B-x ? E-x", "B-x ? O", "? E-x", "B-x ?", "? ? I-y ? S-x", "O ? I-x ?"):
        batches(tags)
    for tags in ("B-x ? I-y", "? E-x I-x", "? B-x", "B-x ? ? B-y O", "O ? ? I-x", "O ? E-x E-x"):
        with pytest.raises(ValueError, match="sentence 0 violate the scheme: word"):
            batches(tags)


@pytest.mark.ci_run("torch")
def test_labels_without_scheme():
    model = SequenceTagger(["DET", "NOUN"], None, "bilstm", units=4, embedding_dim=4)
    model.adapt([["a", "dog"]])
    assert set(model.tag([["a", "cat"]])[0]) <= {"DET", "NOUN"}
    with pytest.raises(ValueError, match="create it with a `scheme`"):
        model.find_spans([["a"]])


def test_labels_in_another_scheme_are_recognised_as_such():
    sentences, labels = corpus(10)
    model = small()
    with pytest.raises(ValueError, match=r"Unknown label '[SE]-"):
        model.fit(sentences, [convert_tags(tags, "BIO", "BIOES") for tags in labels], verbose=0)
