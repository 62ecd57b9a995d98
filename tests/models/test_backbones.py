"""A tiny random KerasHub backbone as input; skipped if KerasHub is not installed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_slstm
from keras_slstm.text import labels_of_pieces, pool_word_pieces, word_ids
from tests.backend import to_numpy

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("keras_hub"), reason="needs keras-hub")

PAGE = Path(__file__).parents[2] / "docs/guides/upstream_vectors.md"
WORDS = word_ids([[None, 0, 0, 1, 2, 2, None], [None, 0, 1, 1, None]])
LABELS = [[1, 0, 2], [2, 1]]
INPUTS = {
    "token_ids": np.array([[2, 5, 6, 7, 8, 9, 3], [2, 10, 11, 12, 3, 0, 0]]),
    "segment_ids": np.zeros((2, 7), "int32"),
    "padding_mask": np.array([[1] * 7, [1] * 5 + [0] * 2]),
}


@pytest.fixture(scope="module")
def backbone():
    import keras_hub

    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 16, "max_sequence_length": 16}
    return keras_hub.models.BertBackbone(vocabulary_size=30, dropout=0.0, **sizes)


def test_the_code_of_the_guide_learns_from_first_pieces(backbone):
    [code] = re.findall(r"^```python\n(import keras_hub\n.*?)^```", PAGE.read_text("utf-8"), flags=re.DOTALL | re.M)
    code, number = re.subn(r"^backbone = .*\n", "", code.replace("SLSTM(300", "SLSTM(8"), flags=re.M)
    assert number == 1
    names = {"keras": keras, "keras_slstm": keras_slstm, "backbone": backbone}
    exec(code, names)
    tagger = names["tagger"]
    tagger.compile(keras.optimizers.Adam(0.05), loss=keras_slstm.CRFLoss(ignore_class=-100))
    labels = labels_of_pieces(LABELS, WORDS)
    tagger.fit(INPUTS, labels, epochs=25, verbose=0)
    found = to_numpy(keras_slstm.crf_decode(tagger.predict(INPUTS, verbose=0)))
    np.testing.assert_array_equal(found[labels >= 0], labels[labels >= 0])


@pytest.mark.parametrize("method", ["first", "last", "mean"])
def test_a_crf_over_words_of_a_frozen_backbone(backbone, method):
    pieces = backbone.predict(INPUTS, verbose=0)["sequence_output"]
    vectors, mask = pool_word_pieces(pieces, WORDS, method)
    vectors, mask = to_numpy(vectors), to_numpy(mask)
    chosen = {"first": pieces[0, 4], "last": pieces[0, 5], "mean": pieces[0, 4:6].mean(axis=0)}[method]
    np.testing.assert_allclose(vectors[0, 2], chosen, rtol=1e-5, atol=1e-6)
    inputs, words_mask = keras.Input((None, 8)), keras.Input((None,), dtype="bool")
    tagger = keras.Model([inputs, words_mask], keras_slstm.CRF(3)(inputs, mask=words_mask))
    tagger.compile(keras.optimizers.Adam(0.1), loss=keras_slstm.CRFLoss())
    labels = np.array([[*row, 0][:3] for row in LABELS])
    tagger.fit([vectors, mask], labels, epochs=40, verbose=0)
    found = to_numpy(keras_slstm.crf_decode(tagger.predict([vectors, mask], verbose=0)))
    np.testing.assert_array_equal(found[mask], labels[mask])
