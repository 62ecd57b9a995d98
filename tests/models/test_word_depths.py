import keras
import numpy as np
import pytest

from keras_slstm import SentenceClassifier
from keras_slstm.models.word_depths import DepthCounts, read_depths
from tests.backend import to_numpy
from tests.layer_case import randomize
from tests.oracles.depth_adaptive_grn import depth_adaptive_grn

pytestmark = pytest.mark.ci_run("torch")

TEXTS = ["a b c d e", "b", "", "c d A"]


def classifier(encoder="depth_adaptive_grn", **options):
    keras.utils.set_random_seed(0)
    encoder_options = {"sequential": None, "max_depth": 4} if "grn" in encoder else {}
    model = SentenceClassifier(["x", "y"], encoder, 3, encoder_options=encoder_options, embedding_dim=4, **options)
    model.adapt(TEXTS)
    randomize(model)
    if "grn" in encoder:  # otherwise all words would be equal
        layer = model.encoder.layer
        layer.depth_kernel.assign(3 * np.random.default_rng(3).normal(size=layer.depth_kernel.shape))
    return model


def test_counts():
    counts = DepthCounts(4)
    assert counts.mean == 0
    counts.add([1, 3, 3])
    counts.add(np.array([4]))
    assert counts.counts.tolist() == [1, 0, 2, 1]
    assert counts.words == 4
    assert counts.mean == (1 + 6 + 4) / 4


@pytest.mark.parametrize("batch_size", [1, 3])
def test_depths_are_those_of_the_explicit_loop(batch_size):
    model = classifier()
    layer = model.encoder.layer
    weights = {weight.name: to_numpy(weight) for weight in layer.weights if weight.dtype == "float32"}
    table = to_numpy(model.embedding.embeddings)
    options = {"units": 3, "max_depth": 4, "selection": "gumbel", "sequential": None}
    read = read_depths(model, TEXTS, batch_size)
    assert [sentence.words for sentence in read] == [["a", "b", "c", "d", "e"], ["b"], ["[UNK]"], ["c", "d", "a"]]
    assert len({depth for sentence in read for depth in sentence.depths}) > 1
    for sentence, ids in zip(read, model.vectorizer.encode(TEXTS)):
        *_, expected = depth_adaptive_grn(weights, table[ids][None], **options)
        assert sentence.depths.tolist() == expected[0].tolist()


def test_with_characters_and_in_half_precision():
    model = classifier(characters="cnn", character_units=3, dtype="mixed_bfloat16")
    read = read_depths(model, TEXTS)
    assert [len(sentence.depths) for sentence in read] == [5, 1, 1, 3]
    assert read_depths(model, []) == []


def test_full_depth():
    read = read_depths(classifier("full_depth_grn"), TEXTS)
    assert {depth for sentence in read for depth in sentence.depths} == {4}


def test_other_models_have_no_depths():
    with pytest.raises(ValueError, match="no depths"):
        read_depths(classifier("slstm"), TEXTS)
    with pytest.raises(ValueError, match="no depths"):
        read_depths(keras.Sequential([keras.layers.Dense(1)]), TEXTS)
