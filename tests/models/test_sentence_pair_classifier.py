"""The pair classifier: probabilities, texts, labels, scores and saving."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest

from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier
from tests.backend import BACKEND, EXACT, dtype_policy, to_numpy
from tests.layer_case import randomize
from tests.oracles import pair_classifier
from tests.oracles.cas_lstm import cas_lstm
from tests.processes import run_python

# It shares its text model with `SentenceClassifier`.
pytestmark = [pytest.mark.ci_run("tensorflow", "torch"), pytest.mark.short_run("torch")]

LABELS = ["same", "other"]
CITIES = ["Oslo", "Rome", "Paris", "Lima"]


def corpus(count=300, seed=0):
    """Whether both sentences name the same city, wherever it stands among the fillers."""
    generator = np.random.default_rng(seed)

    def sentence(city):
        words = list(generator.choice(["a", "flight", "to", "please", "my"], generator.integers(1, 6)))
        words.insert(generator.integers(len(words) + 1), city)
        return " ".join(words)

    pairs, labels = [], []
    for _ in range(count):
        one, other = generator.choice(CITIES, 2, replace=False)
        same = bool(generator.integers(2))
        pairs.append((sentence(one), sentence(one if same else other)))
        labels.append(LABELS[not same])
    return pairs, labels


def scored(count=300, seed=0):
    """Return scores of 4.5 for the same city, and 1.25 for another."""
    pairs, labels = corpus(count, seed)
    return pairs, [4.5 if label == "same" else 1.25 for label in labels]


def small(encoder="cnn", compiled=True, **options):
    keras.utils.set_random_seed(1)
    options = {
        "units": 8, "embedding_dim": 8, "mlp_units": (16,), "features": "paraphrase",
        "mlp_dropout": 0.0, "dropout": 0.0, **options,
    }  # fmt: skip
    if "score_range" not in options:
        options.setdefault("labels", LABELS)
    model = SentencePairClassifier(encoder=encoder, **options)
    model.adapt(corpus()[0])
    if compiled:
        # XLA would take seconds to compile for each length.
        model.compile(keras.optimizers.Adam(0.02), jit_compile=BACKEND == "jax")
    return model


@pytest.fixture(scope="module")
def trained():
    model = small()
    history = model.fit(*corpus(), validation_data=corpus(60, seed=1), epochs=8, batch_size=16, verbose=0)
    return model, history


@pytest.fixture(scope="module")
def trained_on_scores():
    model = small(score_range=(1, 5))
    history = model.fit(*scored(), validation_data=scored(60, seed=1), epochs=20, batch_size=16, verbose=0)
    return model, history


# --- the equations --------------------


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("features", ["inference", "paraphrase"])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_probabilities_are_those_of_the_paper(features, batch_norm):
    """One layer of CAS-LSTM, maximum over the words, eq. 15 or 16, MLP, softmax: one pair at a time, in float64."""
    with dtype_policy("float64"):
        model = SentencePairClassifier(
            ["a", "b", "c"], "caslstm", units=3, encoder_options={"num_layers": 2}, features=features, mlp_units=(5, 4),
            mlp_batch_norm=batch_norm, embedding_dim=2, vectorizer={"tokenizer": "whitespace"},
        )  # fmt: skip
        model.adapt([("a b c d", "e f")])
        randomize(model)
        for norm in model.mlp.norms:
            norm.moving_variance.assign(np.random.default_rng(2).uniform(0.5, 2.0, norm.moving_variance.shape))
        ids = np.array([[[2, 3, 4, 0], [5, 6, 0, 0]], [[7, 0, 0, 0], [3, 2, 5, 6]]], "int32")
        found = to_numpy(model(ids))
        weights = {weight.name: to_numpy(weight) for weight in model.encoder.layers[0].trainable_variables}
        table = to_numpy(model.embedding.embeddings)
        hidden = [[to_numpy(w) for w in (one.kernel, one.bias)] for one in model.mlp.hidden]
        norms = [
            [to_numpy(w) for w in (one.gamma, one.beta, one.moving_mean, one.moving_variance)]
            for one in model.mlp.norms
        ]
        head = [to_numpy(w) for w in (model.head.kernel, model.head.bias)]
    for pair, row in zip(ids, found):
        vectors = []
        for sentence in pair:
            words = table[sentence[sentence != 0]]
            (states,), _, _ = cas_lstm(weights, words[None], units=3, num_layers=2)
            vectors.append(states.max(axis=0))
        phi = pair_classifier.features(*vectors, features)
        assert len(phi) == {"inference": 12, "paraphrase": 6}[features]
        scores = pair_classifier.dense(pair_classifier.mlp(phi, hidden, norms), *head)
        np.testing.assert_allclose(row, pair_classifier.softmax(scores), **EXACT)


@pytest.mark.parametrize("features", ["inference", "paraphrase"])
def test_only_paraphrase_features_are_symmetric(features):
    model = small(features=features, compiled=False)
    pairs, _ = corpus(10, seed=2)
    turned = [(other, one) for one, other in pairs]
    same = np.allclose(model.predict(pairs, verbose=0), model.predict(turned, verbose=0), atol=1e-6)
    assert same == (features == "paraphrase")


# --- training --------------------


def test_learns_and_gives_label_names(trained):
    model, history = trained
    assert history.history["val_accuracy"][-1] > 0.95
    assert model.classify([("a flight to Oslo", "Oslo please"), ("Rome", "my flight to Lima")]) == ["same", "other"]
    pairs, labels = corpus(60, seed=2)
    right = np.mean([a == b for a, b in zip(model.classify(pairs), labels)])
    assert model.evaluate(pairs, labels, verbose=0)[1] == pytest.approx(right, abs=1e-6)


def test_learns_scores(trained_on_scores):
    model, history = trained_on_scores
    assert history.history["val_pearson"][-1] > 0.9
    same, other = model.score([("a flight to Oslo", "Oslo please"), ("Rome", "my flight to Lima")])
    assert same == pytest.approx(4.5, abs=0.6)
    assert other == pytest.approx(1.25, abs=0.6)
    pairs, scores = scored(60, seed=2)
    found = model.score(pairs)
    np.testing.assert_allclose(found, model.predict(pairs, verbose=0) @ np.arange(1, 6), atol=1e-5)
    loss, correlation = model.evaluate(pairs, scores, verbose=0)
    assert correlation == pytest.approx(np.corrcoef(found, scores)[0, 1], abs=1e-4)
    true = np.stack([pair_classifier.score_distribution(score, 1, 5) for score in scores])
    probabilities = model.predict(pairs, verbose=0)
    ratio = np.log(np.where(true > 0, true, 1)) - np.log(np.where(true > 0, probabilities, 1))
    assert loss == pytest.approx((true * ratio).sum(axis=1).mean(), abs=1e-5)  # the divergence


def test_predictions_are_in_the_order_of_the_pairs(trained):
    model, _ = trained
    pairs, _ = corpus(30, seed=3)
    pairs += [("", "Rome"), ("Oslo " * 20, "a")]  # an empty text is one unknown word
    labels, probabilities = model.classify(pairs, return_probabilities=True, batch_size=4)
    assert labels == [LABELS[i] for i in probabilities.argmax(axis=1)]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    one_by_one = np.concatenate([model.predict([pair], verbose=0) for pair in pairs])
    np.testing.assert_allclose(probabilities, one_by_one, atol=1e-5)
    as_array = np.array(pairs)
    np.testing.assert_allclose(model.predict(as_array, verbose=0), model.predict(pairs, verbose=0), atol=1e-6)
    assert model.classify([]) == []
    assert model.predict([]).shape == (0, 2)


def test_ready_batches_and_weights():
    model = small()
    pairs, labels = corpus(40)
    batches = model.batches(pairs, labels, batch_size=8, seed=3)
    model.fit(batches, validation_data=model.batches(pairs, labels, shuffle=False), epochs=1, verbose=0)
    assert int(model.optimizer.iterations) == 5
    one = model.evaluate(pairs, labels, sample_weight=[40.0] + [0.0] * 39, batch_size=40, verbose=0)[0]
    assert one == pytest.approx(model.evaluate(pairs[:1], labels[:1], verbose=0)[0], rel=1e-4)


@pytest.mark.ci_run("torch")
def test_class_weight_by_name_is_class_weight_by_id():
    losses = []
    for weight in ({"same": 3.0, "other": 1.0}, {0: 3.0, 1: 1.0}, None):
        history = small().fit(*corpus(20), class_weight=weight, shuffle=False, verbose=0)
        losses.append(history.history["loss"][0])
    assert losses[0] == losses[1] != losses[2]


def test_word_dropout_acts_in_training_only():
    model = small(word_dropout=0.5, compiled=False, mlp_batch_norm=False)
    ids = np.array([[[2, 3, 4, 5, 6, 0], [3, 0, 0, 0, 0, 0]]] * 64, "int32")
    assert np.ptp(to_numpy(model(ids)), axis=0).max() == pytest.approx(0, abs=1e-6)
    assert len(np.unique(to_numpy(model(ids, training=True))[:, 0].round(6))) > 8


@pytest.mark.skipif(BACKEND == "torch", reason="XLA")
def test_trains_compiled_by_xla():
    model = small(compiled=False)
    model.compile(keras.optimizers.Adam(0.02), jit_compile=True)
    pairs, labels = corpus(16)
    history = model.fit(model.batches(pairs, labels, batch_size=8), epochs=3, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]


@pytest.mark.skipif(BACKEND != "tensorflow", reason="MirroredStrategy is TensorFlow's")
@pytest.mark.parametrize("task", ["labels", "scores"])
@pytest.mark.short_run
def test_two_replicas_learn_the_same_as_one(task):
    import tensorflow as tf

    histories = []
    # The default collective operations mix up several strategies in one process.
    mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], tf.distribute.ReductionToOneDevice())
    for strategy in (mirrored, tf.distribute.get_strategy()):
        with strategy.scope():
            # Each replica takes its own statistics and draws its own dropout, so both are left out of the comparison.
            options = {"score_range": (1, 5)} if task == "scores" else {}
            options["word_dropout"] = 0.0
            model = small(compiled=False, mlp_batch_norm=False, **options)
            model.compile(keras.optimizers.SGD(0.1), jit_compile=False)
        pairs, targets = (scored if task == "scores" else corpus)(32)
        batches = model.batches(pairs, targets, batch_size=16, shuffle=False)
        histories.append(model.fit(batches, epochs=2, verbose=0).history)
    for name, values in histories[0].items():
        np.testing.assert_allclose(values, histories[1][name], rtol=1e-3, atol=1e-4, err_msg=name)


# --- files --------------------


@pytest.mark.parametrize("name", ["trained", "trained_on_scores"])
def test_saved_file_contains_vocabulary_and_labels(name, request, tmp_path):
    model, _ = request.getfixturevalue(name)
    pairs, labels = (corpus if model.labels else scored)(20, seed=4)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.labels == model.labels
    assert loaded.score_range == model.score_range
    assert loaded.features == "paraphrase"
    assert loaded.vectorizer.vocabulary == model.vectorizer.vocabulary
    np.testing.assert_allclose(loaded.predict(pairs, verbose=0), model.predict(pairs, verbose=0), atol=1e-6)
    again = loaded.evaluate(pairs, labels, verbose=0)  # loss and metric came with it
    np.testing.assert_allclose(again, model.evaluate(pairs, labels, verbose=0), atol=1e-5)
    loaded.fit(pairs, labels, epochs=1, verbose=0)
    iterations = int(loaded.optimizer.iterations)
    assert iterations == int(model.optimizer.iterations) + 1


@pytest.mark.ci_run
@pytest.mark.skipif(BACKEND != "tensorflow", reason="the test itself starts the other two backends")
@pytest.mark.parametrize("other", ["jax", "torch"])
def test_saved_file_predicts_the_same_on_another_backend(trained, tmp_path, other):
    pytest.importorskip(other)
    model, _ = trained
    pairs, _ = corpus(5, seed=5)
    model.save(tmp_path / "model.keras")
    script = (
        "import sys, json, keras, keras_slstm\n"
        "model = keras.saving.load_model(sys.argv[1])\n"
        "print(json.dumps(model.predict([tuple(p) for p in json.loads(sys.argv[2])], verbose=0).tolist()))"
    )
    result = run_python("-c", script, tmp_path / "model.keras", json.dumps(pairs), KERAS_BACKEND=other)
    assert result.returncode == 0, result.stderr
    there = json.loads(result.stdout.splitlines()[-1])
    np.testing.assert_allclose(there, model.predict(pairs, verbose=0), atol=1e-5)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="a SavedModel that takes strings is TensorFlow's")
@pytest.mark.parametrize("name", ["trained", "trained_on_scores"])
def test_exported_model_takes_raw_strings(name, request, tmp_path):
    import tensorflow as tf

    model, _ = request.getfixturevalue(name)
    pairs = [*corpus(20, seed=6)[0], ("", "Oslo"), ("Ünknown\u00a0words\u0085Rome!", "Rome")]
    model.export_text(str(tmp_path / "served"))
    first, second = (tf.constant(texts) for texts in zip(*pairs))
    served = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"](first=first, second=second)
    np.testing.assert_allclose(served["probabilities"], model.predict(pairs, verbose=0), atol=1e-5)
    if model.labels:
        assert [label.decode() for label in served["label"].numpy()] == model.classify(pairs)
    else:
        np.testing.assert_allclose(served["score"], model.score(pairs), atol=1e-5)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="a SavedModel that takes strings is TensorFlow's")
def test_plain_export_takes_word_ids(trained, tmp_path):
    import tensorflow as tf

    model, _ = trained
    ids = np.array([[[3, 4, 0], [5, 0, 0]]], "int32")
    model.export(tmp_path / "plain", verbose=False)
    served = tf.saved_model.load(str(tmp_path / "plain"))
    np.testing.assert_allclose(served.serve(ids), model(ids), atol=1e-5)


@pytest.mark.skipif(BACKEND == "tensorflow", reason="works on TensorFlow")
def test_text_export_names_the_backend_it_needs(trained, tmp_path):
    with pytest.raises(RuntimeError, match="`export_text` needs the TensorFlow backend"):
        trained[0].export_text(tmp_path / "served")


# --- errors --------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": None}, "Pass either `labels` or `score_range`"),
        ({"score_range": (1, 5)}, "Pass either `labels` or `score_range`"),
        ({"labels": None, "score_range": (5, 1)}, "`score_range` must be two integers"),
        ({"labels": ["one"]}, "at least two"),
        ({"labels": "ab"}, "list of non-empty strings"),
        ({"features": "both"}, r"`features` must be one of \('inference', 'paraphrase'\), but got 'both'"),
        ({"encoder": "lstmm"}, "Unknown encoder 'lstmm'"),
        ({"encoder": keras.layers.Dense(3)}, "must take a `mask`"),
        ({"pooling": "sum"}, "'sum'"),
        ({"mlp_units": (0,)}, "`units` must be an integer"),
        ({"mlp_units": 300}, "`mlp_units` must be a list"),
        ({"mlp_units": ()}, "need hidden layers"),
        ({"mlp_dropout": 1.0}, "`mlp_dropout` must be in"),
        ({"dropout": -0.1}, "`dropout` must be in"),
    ],
)
def test_bad_arguments_fail_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        SentencePairClassifier(**{"labels": LABELS, "units": 4, **arguments})


def test_bad_data_is_explained(trained, trained_on_scores):
    model, scorer = trained[0], trained_on_scores[0]
    good = [("a", "b"), ("c", "d")]
    with pytest.raises(ValueError, match=r"Unknown label 'kook' at position 1\. Known labels: same, other"):
        model.fit(good, ["same", "kook"])
    with pytest.raises(ValueError, match=r"Scores must be from 1 to 5, but got 6 at 1\."):
        scorer.fit(good, [1, 6])
    with pytest.raises(ValueError, match="`y` is missing"):
        model.fit(good)
    with pytest.raises(ValueError, match="2 sentences, but 1 `labels`"):
        model.evaluate(good, ["same"])
    for bad in ([("a", "b"), ("c",)], [("a", "b"), "cd"], [("a", "b"), ("c", 3)], [("a", "b"), ("c", "d", "e")]):
        with pytest.raises(ValueError, match="Pair 1 must be two texts"):
            model.classify(bad)
    with pytest.raises(ValueError, match="Pair 0 must be two texts, but is 'a text'"):
        model.predict(["a text", "another"])
    with pytest.raises(ValueError, match="one string"):
        model.classify("a text")
    with pytest.raises(ValueError, match="predicts scores, not labels: use `score`"):
        scorer.classify(good)
    with pytest.raises(ValueError, match="predicts labels, not scores: use `classify`"):
        model.score(good)
    with pytest.raises(ValueError, match="Unknown label 'kook' in `class_weight`"):
        model.fit(good, ["same", "other"], class_weight={"kook": 1.0})
    with pytest.raises(ValueError, match="already"):
        model.adapt(good)
    with pytest.raises(ValueError, match="adapt"):
        SentencePairClassifier(LABELS, "bilstm", units=4).classify(good)


@pytest.mark.ci_run("torch")
def test_failed_adapt_can_be_repeated():
    model = SentencePairClassifier(LABELS, keras.layers.LSTM(3, return_sequences=True), embedding_dim=4)
    with pytest.raises(ValueError, match="return sentence vectors"):
        model.adapt([("a", "b")])
    assert not model.vectorizer.is_adapted
