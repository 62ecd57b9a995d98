"""Text models accept the usual data containers of Keras, and reject others with a one-sentence message."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.models.labels import label_ids
from keras_slstm.models.raw_examples import read_source

pytestmark = pytest.mark.short_run("torch")

BACKEND = keras.backend.backend()
TEXTS = ["book a room", "cancel it", "book two rooms in Rome", "please cancel", "book"]
LABELS = ["book", "cancel", "book", "cancel", "book"]
IDS = [0, 1, 0, 1, 0]
TOKENS = [text.split() for text in TEXTS]
TAGS = [["O"] * (len(tokens) - 1) + ["city"] for tokens in TOKENS]
PAIRS = list(zip(TEXTS, TEXTS[::-1]))


@pytest.fixture(scope="module")
def classifier():
    model = keras_slstm.SentenceClassifier(
        ["book", "cancel"], encoder="lstm", units=2, embedding_dim=2, dropout=0.0, vectorizer={}
    )
    model.adapt(TEXTS)
    model.compile("adam", jit_compile=False, run_eagerly=BACKEND != "jax")
    return model


@pytest.fixture(scope="module")
def tagger():
    model = keras_slstm.SequenceTagger(["O", "city"], encoder="lstm", units=2, embedding_dim=2, characters=None)
    model.adapt(TOKENS)
    model.compile("adam", jit_compile=False, run_eagerly=BACKEND != "jax")
    return model


def tf_data(name):
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensor_slices
    return {
        "single": lambda: data((TEXTS, LABELS)),
        "batched": lambda: data((TEXTS, LABELS)).batch(2),
        "ids": lambda: data((TEXTS, IDS)).batch(2),
        "weights": lambda: data((TEXTS, LABELS, [1.0] * 5)).batch(2),
    }[name]()


class Rows:
    """A map-style PyTorch dataset."""

    def __init__(self, *columns):
        self.rows = list(zip(*columns))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def loader(*columns, **options):
    data = pytest.importorskip("torch.utils.data")
    return data.DataLoader(Rows(*columns), batch_size=2, **options)


def columns_of(rows):
    return tuple(zip(*rows))


CONTAINERS = {
    "ids": lambda: (TEXTS, IDS),
    "numpy": lambda: (np.array(TEXTS), np.array(LABELS)),
    "tensor": lambda: (pytest.importorskip("tensorflow").constant(TEXTS), LABELS),
    **{f"tf.data {name}": lambda name=name: (tf_data(name),) for name in ("single", "batched", "ids", "weights")},
    "DataLoader": lambda: (loader(TEXTS, LABELS),),
    "DataLoader ids": lambda: (loader(TEXTS, IDS),),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_classifier_reads(name, classifier):
    expected = classifier.evaluate(TEXTS, LABELS, verbose=0)
    np.testing.assert_allclose(classifier.evaluate(*CONTAINERS[name](), verbose=0), expected, rtol=1e-5)
    data, *_ = CONTAINERS[name]()
    np.testing.assert_allclose(classifier.predict(data, verbose=0), classifier.predict(TEXTS, verbose=0), rtol=1e-5)


def test_fit_takes_a_dataset_and_its_batch_size(classifier):
    validation = tf_data("batched")
    history = classifier.fit(tf_data("batched"), validation_data=validation, class_weight={"book": 2.0}, verbose=0)
    assert history.params["steps"] == 3
    assert {"val_loss", "val_accuracy"} <= {*history.history}


def test_validation_split_takes_the_last_examples(classifier):
    seen = []
    after = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(logs["val_loss"]))
    classifier.fit(TEXTS, np.array(LABELS), validation_split=0.4, callbacks=[after], verbose=0)
    assert seen == [pytest.approx(classifier.evaluate(TEXTS[3:], LABELS[3:], verbose=0)[0], rel=1e-5)]
    with pytest.raises(ValueError, match=r"must leave examples on both sides, but got 0\.95 of 5"):
        classifier.fit(TEXTS, LABELS, validation_split=0.95, verbose=0)


def test_pairs_of_datasets():
    model = keras_slstm.SentencePairClassifier(["book", "cancel"], encoder="lstm", units=2, embedding_dim=2)
    model.adapt(PAIRS)
    model.compile("adam", jit_compile=False, run_eagerly=BACKEND != "jax")
    expected = model.evaluate(PAIRS, LABELS, verbose=0)
    tf = pytest.importorskip("tensorflow")
    first, second = columns_of(PAIRS)
    for x in ((list(first), list(second)), PAIRS):
        data = tf.data.Dataset.from_tensor_slices((x, LABELS))
        for dataset in (data, data.batch(2)):
            np.testing.assert_allclose(model.evaluate(dataset, verbose=0), expected, rtol=1e-5)
    for collate in ({}, {"collate_fn": columns_of}):
        np.testing.assert_allclose(model.evaluate(loader(PAIRS, LABELS, **collate), verbose=0), expected, rtol=1e-5)
        found = model.predict(loader(PAIRS, LABELS, **collate), verbose=0)
        np.testing.assert_allclose(found, model.predict(PAIRS, verbose=0), rtol=1e-5)


def test_tagger_reads_ragged_and_padded_tokens(tagger):
    tf = pytest.importorskip("tensorflow")
    expected = tagger.evaluate(TOKENS, TAGS, verbose=0)
    ragged = tf.ragged.constant(TOKENS), tf.ragged.constant(TAGS)
    ids = [[tagger.labels.index(tag) for tag in tags] for tags in TAGS]
    data = tf.data.Dataset.from_tensor_slices(ragged)
    padded = tf.data.Dataset.from_tensor_slices((ragged[0].to_tensor(), tf.ragged.constant(ids).to_tensor(-1)))
    for parts in (ragged, (TOKENS, ids), (data,), (data.batch(2),), (padded,), (padded.batch(2),)):
        np.testing.assert_allclose(tagger.evaluate(*parts, verbose=0), expected, rtol=1e-4)
    rows = loader(TOKENS, TAGS, collate_fn=columns_of)
    np.testing.assert_allclose(tagger.evaluate(rows, verbose=0), expected, rtol=1e-4)
    with pytest.raises(ValueError, match="create the DataLoader with `collate_fn="):
        tagger.evaluate(loader([["a", "b"]] * 2, [["O", "O"]] * 2), verbose=0)


def test_class_weight_of_words_is_refused(tagger):
    with pytest.raises(ValueError, match="but this model labels words"):
        tagger.fit(TOKENS, TAGS, class_weight={0: 1.0, 1: 5.0}, verbose=0)


@pytest.mark.parametrize(
    "loss", ["sparse_categorical_crossentropy", keras.losses.SparseCategoricalCrossentropy(), "mse"]
)
def test_a_crf_names_its_loss(loss):
    model = keras_slstm.SequenceTagger(["O", "city"], encoder="lstm", units=2, embedding_dim=2)
    with pytest.raises(ValueError, match=r"the loss must be `CRFLoss\(\)`"):
        model.compile("adam", loss=loss)
    model.compile("adam", loss=keras_slstm.CRFLoss())
    model.compile("adam", loss=lambda y_true, y_pred: keras.ops.sum(y_pred))
    softmax = keras_slstm.SequenceTagger(["O", "city"], head="softmax", encoder="lstm", units=2, embedding_dim=2)
    with pytest.raises(ValueError, match="`CRFLoss` needs head='crf'"):
        softmax.compile("adam", loss=keras_slstm.CRFLoss())


def test_compile_without_a_loss(classifier):
    assert classifier.loss == "sparse_categorical_crossentropy"
    assert [*classifier.evaluate(TEXTS, LABELS, return_dict=True, verbose=0)] == ["accuracy", "loss"]


def test_packed_and_ragged_ids_are_refused(classifier):
    torch = pytest.importorskip("torch")
    tf = pytest.importorskip("tensorflow")
    packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    for method in (classifier.predict, classifier.evaluate, classifier.fit):
        with pytest.raises(ValueError, match="`x` is packed: pad it with"):
            method(packed)
        with pytest.raises(ValueError, match=r"`x` is ragged: pad it with `x.to_tensor\(0\)`"):
            method(tf.ragged.constant([[1, 2], [3]]))


def test_a_dataset_that_cannot_be_read_is_refused(classifier):
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensor_slices
    for dataset, message in (
        (data((TEXTS, LABELS)).repeat(), "repeats forever"),
        (data(({"text": TEXTS}, LABELS)), "must be a text and a label"),
        (data((TEXTS, LABELS)).batch(2).batch(2), "must be a text and a label"),
    ):
        with pytest.raises(ValueError, match=message):
            classifier.fit(dataset, verbose=0)
    with pytest.raises(ValueError, match="must be None if `x` is a dataset"):
        classifier.fit(tf_data("batched"), LABELS, verbose=0)


def test_numbers_are_not_changed():
    x = np.zeros((2, 3), "int32")
    assert read_source(x, None, None, "text").x is x


@pytest.mark.parametrize("label", [2, -1, True, 0.0, [0, 1], None])
def test_labels_are_names_or_ids(label):
    assert label_ids(["book", "cancel"], ["cancel", np.int64(0)]).tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"at position 1|Label 1 must be a name or an id"):
        label_ids(["book", "cancel"], ["book", label])


def test_a_small_data_set_gets_the_requested_updates(classifier):
    before = int(classifier.optimizer.iterations)
    history = classifier.fit(TEXTS, LABELS, updates=70, validation_data=(TEXTS, LABELS), verbose=0)
    assert len(history.epoch) == 2  # each of 50 batches, where five examples make one
    assert int(classifier.optimizer.iterations) - before == 100
    with pytest.raises(ValueError, match="`epochs` or `updates`, not both"):
        classifier.fit(TEXTS, LABELS, updates=70, epochs=1)
