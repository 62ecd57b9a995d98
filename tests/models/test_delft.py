"""A BidLSTM_CRF of DeLFT, built with Keras 2 in another process, has the same scores and labels here."""

from __future__ import annotations

import importlib.util
import json
import shutil

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.models import load_delft_tagger
from keras_slstm.models.delft import DeLFTVectorizer, TanhBiLSTM
from keras_slstm.ops.crf_functions import unpack_potentials
from keras_slstm.text import WordVectors, load_word_vectors
from tests.backend import BACKEND, to_numpy
from tests.models.delft_cases import DIM, LABELS, SENTENCES
from tests.processes import run_python
from tests.test_migration_page import code


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not all(importlib.util.find_spec(name) for name in ("tf_keras", "tensorflow_addons")):
        pytest.skip("the extra `addons` is not installed")
    folder = tmp_path_factory.mktemp("delft")
    done = run_python(*("-m", "tests.models.delft_origin", folder), KERAS_BACKEND="tensorflow", TF_USE_LEGACY_KERAS="1")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def tagger(folder):
    return load_delft_tagger(folder, load_word_vectors(folder / "vectors.txt"))


def _potentials(tagger):
    """Return the unary scores of each sentence, and the transitions."""
    batches = tagger.batches(SENTENCES, batch_size=len(SENTENCES), shuffle=False)
    parts = unpack_potentials(tagger.predict_on_batch(batches[0][0]))
    rows = dict(zip(batches.order[0].tolist(), to_numpy(parts.unary)))
    return [rows[place][: len(tokens)] for place, tokens in enumerate(SENTENCES)], to_numpy(parts.transitions)


@pytest.mark.ci_run("torch")
@pytest.mark.short_run
def test_scores_and_labels_equal_the_originals(folder, tagger, tmp_path):
    stored = np.load(folder / "found.npz")
    expected = [[LABELS[y] for y in row[: len(tokens)]] for tokens, row in zip(SENTENCES, stored["labels"])]
    assert tagger.tag(SENTENCES) == expected
    unary, transitions = _potentials(tagger)
    for found, right in zip(unary, stored["potentials"]):
        np.testing.assert_allclose(found, right[: len(found)], rtol=0, atol=2e-5)
    np.testing.assert_allclose(transitions, stored["transitions"], rtol=0, atol=1e-6)
    tagger.save(tmp_path / "tagger.keras")
    assert keras.saving.load_model(tmp_path / "tagger.keras").tag(SENTENCES) == expected


@pytest.mark.backends("torch")
def test_the_code_of_the_page(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "data/models/sequenceLabelling/ner")
    shutil.copy(folder / "vectors.txt", tmp_path / "glove.840B.300d.txt")
    monkeypatch.chdir(tmp_path)
    exec(code("load_delft_tagger"), {"keras_slstm": keras_slstm})
    found = keras.saving.load_model("ner.keras")
    assert found.tag(SENTENCES) == load_delft_tagger(folder, load_word_vectors(folder / "vectors.txt")).tag(SENTENCES)


@pytest.mark.backends("torch")
def test_with_a_scheme_no_word_is_labelled_padding(folder):
    tagger = load_delft_tagger(folder, load_word_vectors(folder / "vectors.txt"), scheme="BIO")
    found = tagger.tag(SENTENCES)
    assert {label for labels in found for label in labels} <= {"B-LOC", "I-LOC", "O"}
    assert [len(spans) for spans in tagger.find_spans(SENTENCES)] == [
        sum(label.startswith("B") for label in labels) for labels in found
    ]


@pytest.mark.backends("torch")
@pytest.mark.parametrize(
    ("file", "changed", "message"),
    [
        ("config.json", {"architecture": "BidLSTM_ChainCRF"}, "expected architecture 'BidLSTM_CRF'"),
        ("config.json", {"num_word_lstm_units": 0}, "num_word_lstm_units must be a positive integer, but is 0"),
        ("config.json", {"num_word_lstm_units": 9}, "must have the shape"),
        ("preprocessor.json", {"vocab_tag": {"<PAD>": 0, "O": 2}}, "the numbers in vocab_tag must be 0 to 1"),
        ("preprocessor.json", {"vocab_char": ["a"]}, "vocab_char must be an object of numbers"),
        ("preprocessor.json", {"vocab_char": {"a": 0}}, "vocab_char must begin with"),
    ],
)
def test_mismatching_files_are_refused(folder, tmp_path, file, changed, message):
    for name in ("config.json", "preprocessor.json", "model_weights.hdf5"):
        shutil.copy(folder / name, tmp_path)
    stored = json.loads((tmp_path / file).read_text())
    (tmp_path / file).write_text(json.dumps({**stored, **changed}))
    with pytest.raises(ValueError, match=message):
        load_delft_tagger(tmp_path, load_word_vectors(folder / "vectors.txt"))


@pytest.mark.backends("torch")
def test_missing_and_damaged_files(tmp_path):
    vectors = WordVectors(["a"], np.zeros((1, DIM), np.float32))
    with pytest.raises(FileNotFoundError, match=r"config\.json does not exist"):
        load_delft_tagger(tmp_path, vectors)
    (tmp_path / "config.json").write_text('{"architecture"')
    with pytest.raises(ValueError, match=r"config\.json:1: not valid JSON"):
        load_delft_tagger(tmp_path, vectors)


def test_the_vectorizer_reads_words_as_delft_does():
    vectorizer = DeLFTVectorizer(4)
    vectorizer.set_vocabularies(["Paris", "paris", "0-0"], ["P", "a", "r", "i", "s"])
    assert vectorizer.encode([["Paris", "PARIS", "7-９", "rome"]]) == [[2, 1, 4, 1]]
    assert vectorizer.encode_characters([["Parisxx", "sP"]]) == [[[2, 3, 4, 5], [6, 2]]]
    again = DeLFTVectorizer.from_config(vectorizer.get_config())
    assert again.max_characters == 4
    if BACKEND == "tensorflow":
        encode, _ = vectorizer.tensorflow_function()
        found = encode(np.array([["Paris", "PARIS", "7-９", "Parisxx"]]))
        assert found["words"].numpy().tolist() == [[2, 1, 4, 1]]
        assert found["characters"].numpy()[0, 3].tolist() == [2, 3, 4, 5]


def test_dropout_of_the_encoder():
    layer = TanhBiLSTM(3, dropout=0.5, recurrent_dropout=0.0)
    x = np.ones((2, 4, 5), "float32")
    one, other = (to_numpy(layer(x, training=training)) for training in (False, True))
    assert one.shape == layer.compute_output_shape(x.shape) == other.shape
    assert not np.allclose(one, other)
    assert TanhBiLSTM.from_config(layer.get_config()).dropout == 0.5
