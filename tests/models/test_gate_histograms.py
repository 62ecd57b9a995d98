import keras
import numpy as np
import pytest

from keras_slstm import SentenceClassifier, SentencePairClassifier, Seq2Seq
from keras_slstm.layers.cas_lstm import VerticalGates
from keras_slstm.models.gate_histograms import GateHistograms, read_gates
from tests.backend import to_numpy
from tests.oracles.cas_lstm import cas_lstm

# Composed of parts that are tested on all backends.
pytestmark = [pytest.mark.backends("tensorflow", "torch"), pytest.mark.ci_run("torch")]

TEXTS = ["a b c d e", "b", "c d a"]


def test_only_words_are_counted():
    g = np.array([[[0.05, 0.95], [0.5, 0.5], [0.3, 0.3]]])
    o = np.array([[[0.05, 0.1], [0.5, 1.0], [0.9, 0.9]]])
    histograms = GateHistograms(bins=10)
    histograms.add([VerticalGates(g, o), VerticalGates(o, g)], np.array([[True, True, False]]))
    histograms.add([VerticalGates(g[:, :1], o[:, :1]), VerticalGates(o[:, :1], g[:, :1])])
    second, third = histograms.layers[2], histograms.layers[3]
    assert second.gates.tolist() == [2, 0, 0, 0, 0, 2, 0, 0, 0, 2]
    assert second.ranges.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]  # 0.9 twice, and 0
    assert second.differences.tolist() == [3, 0, 0, 0, 0, 1, 0, 0, 2, 0]
    assert third.gates.sum() == 6
    assert third.gates[-1] == 1  # 1 itself
    assert histograms.words == 3
    assert histograms.means(2).gates == pytest.approx((2 * (0.05 + 0.95) + 1) / 6)
    assert histograms.means(2).ranges == pytest.approx((2 * 0.9 + 0) / 3)
    assert histograms.means(3).differences == pytest.approx((2 * 0.85 + 0.5) / 6)


def classifier(encoder, **options):
    keras.utils.set_random_seed(0)
    model = SentenceClassifier(["x", "y"], encoder, units=3, embedding_dim=4, encoder_options=options)
    model.adapt(TEXTS)
    for variable in model.trainable_variables:
        variable.assign(np.random.default_rng(1).normal(size=variable.shape))
    return model


@pytest.mark.parametrize("encoder", ["caslstm", "bi_caslstm"])
def test_gates_are_those_of_the_explicit_loop(encoder):
    """For both directions and all words, in their positions, with any batch size."""
    model = classifier(encoder, num_layers=3)
    table = to_numpy(model.embedding.embeddings)
    layers = [layer for layer in model._flatten_layers() if type(layer).__name__ == "CASLSTM"]
    ids = model.vectorizer.encode(TEXTS)
    wanted = []
    for layer in layers:
        weights = {weight.name: to_numpy(weight) for weight in layer.trainable_variables}
        for row in ids:
            _, _, gates = cas_lstm(weights, table[row][None], units=3, num_layers=3, backwards=layer.go_backwards)
            wanted.append([gates["g", 2], gates["o", 1], gates["g", 3], gates["o", 2]])
    wanted = [np.concatenate([found[i] for found in wanted], axis=1)[0] for i in range(4)]
    for batch_size in (1, 2):
        found = [[], [], [], []]
        for gates, mask in read_gates(model, TEXTS, batch_size):
            for column, gate in zip(found, [gate for pair in gates for gate in pair]):
                column.append(to_numpy(gate)[to_numpy(mask)])
        for one, other in zip(found, wanted):
            one, other = (np.sort(x, axis=0) for x in (np.concatenate(one), other))
            np.testing.assert_allclose(one, other, atol=1e-5)
    assert "call" not in vars(layers[0])  # as it was
    assert len(model.classify(TEXTS)) == 3


def test_characters_contextual_vectors_and_pairs_are_read():
    """Checks characters, contextual vectors of a function, and pairs, whose texts count separately."""
    function = {"contextual": lambda texts: [np.ones((len(words), 2)) for words in texts]}
    for options in ({"characters": "cnn"}, function):
        model = SentenceClassifier(["x", "y"], "caslstm", units=3, embedding_dim=4, **options)
        model.adapt(TEXTS)
        assert sum(int(to_numpy(mask).sum()) for _, mask in read_gates(model, TEXTS, 2)) == 9
    pairs = SentencePairClassifier(["x", "y"], "caslstm", units=3, embedding_dim=4, mlp_units=[3])
    pairs.adapt([("a b", "c d e")])
    assert sum(int(to_numpy(mask).sum()) for _, mask in read_gates(pairs, TEXTS)) == 9


def test_a_translation_model_shows_the_gates_of_its_encoder():
    pytest.importorskip("tokenizers")
    model = Seq2Seq(units=4, embedding_dim=4, bidirectional=True, vectorizer={"max_tokens": 270})
    model.adapt(TEXTS)
    histograms = GateHistograms()
    for gates, mask in read_gates(model, TEXTS, batch_size=2):
        histograms.add(gates, mask)
    words = sum(len(row) + 1 for row in model.vectorizer.encode(TEXTS))  # with the end
    assert histograms.words == 2 * words
    assert list(histograms.layers) == [2]
    assert histograms.layers[2].gates.sum() == 2 * words * 2  # half of the units in each direction


def test_models_without_gates():
    for model in (classifier("bilstm"), classifier("caslstm", num_layers=1)):
        with pytest.raises(ValueError, match="no vertical gates"):
            list(read_gates(model, TEXTS))
    words = keras.Input((None, 4))
    from keras_slstm import CASLSTM

    with pytest.raises(ValueError, match="not a text model of this package"):
        list(read_gates(keras.Model(words, CASLSTM(3)(words)), TEXTS))
    with pytest.raises(ValueError, match="bins"):
        GateHistograms(bins=0)
