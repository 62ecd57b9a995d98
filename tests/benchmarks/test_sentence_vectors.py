"""The sentence vectors that the report names are those that the encoders return."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from benchmarks import sentence_vectors
from benchmarks.sentence_vectors import ACTIVATED_PARTS, ALL_PARTS, BY_ENCODER, BY_READOUT, FINAL, different_vectors
from benchmarks.study import Study
from keras_slstm.cli.main import parse
from keras_slstm.models.encoders import ENCODERS, build_encoder

UNITS = 4


def outputs(name, **options):
    """The words' states and the sentence vectors of an encoder with equal weights, without padding."""
    inputs = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    of_words, of_sentence = (build_encoder(name, UNITS, return_sequences=both, **options) for both in (True, False))
    words = of_words(inputs)
    of_sentence.build(inputs.shape)
    of_sentence.set_weights(of_words.get_weights())
    return [keras.ops.convert_to_numpy(states) for states in (words, of_sentence(inputs))]


def test_every_encoder_and_its_default():
    assert set(BY_ENCODER) == set(ENCODERS)


@pytest.mark.parametrize("name", sorted(BY_ENCODER))
def test_encoders(name):
    words, sentence = outputs(name)
    forward, backward = words[:, -1, :UNITS], words[:, 0, UNITS:]
    final = np.concatenate([forward, backward], axis=-1)
    parts = np.concatenate([words.max(axis=1), words.mean(axis=1)], axis=-1)
    without_g = {ALL_PARTS: parts, ACTIVATED_PARTS: np.maximum(parts, 0.0)}
    expected = {"max": words.max(axis=1), "mean": words.mean(axis=1), FINAL: final, **without_g}[BY_ENCODER[name]]
    if name == "normalized_bilstm":  # its final states are those of <s> and </s>
        assert sentence.shape == final.shape
        assert not np.allclose(sentence, words.max(axis=1), atol=1e-5)
        return
    np.testing.assert_allclose(sentence[:, : expected.shape[1]], expected, atol=1e-5)
    assert sentence.shape[1] == expected.shape[1] + UNITS * (BY_ENCODER[name] in without_g)


def test_readouts():
    words, sentence = outputs("slstm", readout="max")
    np.testing.assert_allclose(sentence, words.max(axis=1), atol=1e-5)
    assert list(BY_READOUT) == ["max_mean_node", "max", "node"]


def study(command, rows, **options):
    return Study("s", "?", command, "accuracy", {"a": {}}, options, rows, next(iter(rows)), [0])


def test_the_report_names_different_vectors():
    rows = {"one": {"encoder": "slstm"}, "two": {"encoder": "bilstm"}}
    wanted = f'The sentence vectors differ: {ALL_PARTS} for "one"; the final states for "two".'
    assert different_vectors(study("classify", rows)) == wanted
    equal = {"one": {"encoder": "slstm", "readout": "max"}, "two": {"encoder": "bilstm", "pooling": "max"}}
    assert different_vectors(study("classify", equal)) is None
    own = {"one": {}, "two": {"encoder": "stacked_bilstm"}}
    wanted = 'The sentence vectors differ: max for "one"; the final states for "two".'
    assert different_vectors(study("match", own)) == wanted
    assert different_vectors(study("match", own, architecture="infersent")) is None
    assert different_vectors(study("match", own, architecture="esim")) is None
    assert different_vectors(study("tag", rows)) is None


def test_default_encoders_are_those_of_the_commands():
    for command, encoder in sentence_vectors.DEFAULT_ENCODERS.items():
        assert parse(command, []).encoder == encoder
