"""Word vectors that a function computes from sentences when a batch needs them."""

from __future__ import annotations

import numpy as np
import pytest

from keras_slstm.text.batches import TextBatches
from keras_slstm.text.contextual_vectors import ContextualVectors
from keras_slstm.text.pair_batches import PairBatches

SENTENCES = [["a", "flight"], ["rome"], [], ["to", "my", "rome"]]


def lengths_and_places(sentences):
    """Of each word: the length of its sentence, and its place in it."""
    return [np.array([[len(tokens), place] for place in range(len(tokens))]) for tokens in sentences]


def expected(number, time):
    tokens = SENTENCES[number]
    return [[len(tokens), t] if t < len(tokens) else [0, 0] for t in range(time)]


def test_batches_hold_the_vectors_of_their_sentences():
    ids = [[2, 3], [4], [1], [5, 6, 4]]  # a text without a token is one unknown word
    vectors = ContextualVectors(lengths_and_places, SENTENCES, 2)
    batches = TextBatches(ids, [0, 1, 0, 1], batch_size=3, multiple_of=2, contextual=vectors)
    seen = 0
    for index, chosen in enumerate(batches.order):
        inputs, labels = batches[index]
        time = inputs["words"].shape[1]
        assert inputs["contextual"].dtype == np.float32
        np.testing.assert_array_equal(inputs["contextual"], [expected(number, time) for number in chosen])
        np.testing.assert_array_equal(labels, chosen % 2)
        seen += len(chosen)
    assert seen == 4


def test_pairs_hold_those_of_both_sentences():
    vectors = ContextualVectors(lengths_and_places, SENTENCES, 2)
    batches = PairBatches(
        [[2, 3], [1]], [[4], [5, 6, 4]], batch_size=2, multiple_of=4, shuffle=False, contextual=vectors
    )
    ((inputs,),) = [batches[0]]
    assert inputs["words"].shape == (2, 2, 4)
    np.testing.assert_array_equal(
        inputs["contextual"], [[expected(0, 4), expected(1, 4)], [expected(2, 4), expected(3, 4)]]
    )
    with pytest.raises(ValueError, match="There are 4 sentences, but 2 `contextual`"):
        PairBatches([[2, 3], [1]], [[4], [5]], contextual=ContextualVectors(lengths_and_places, SENTENCES[:2], 2))


def test_the_function_gets_only_the_sentences_of_the_batch():
    asked = []

    def note(sentences):
        asked.append(sentences)
        return lengths_and_places(sentences)

    vectors = ContextualVectors(note, SENTENCES, 2)
    assert not asked
    np.testing.assert_array_equal(vectors.pad([3, 2], 3), [expected(3, 3), expected(2, 3)])
    vectors.pad([2], 1)
    assert asked == [[["to", "my", "rome"]]]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda sentences: [], r"must return one array per sentence \(2\), but returned 0"),
        (lambda sentences: [np.ones((1, 2))] * 2, r"shape \(2, 2\) for the 2 tokens \['a', 'flight'\], .* \(1, 2\)"),
        (lambda sentences: [np.ones((len(s), 3)) for s in sentences], r"shape \(2, 2\) .* returned \(2, 3\)"),
        (lambda sentences: [np.ones(len(s)) for s in sentences], r"returned \(2,\)"),
    ],
)
def test_invalid_results_of_the_function(function, message):
    with pytest.raises(ValueError, match=message):
        ContextualVectors(function, SENTENCES, 2).pad([0, 1], 2)
