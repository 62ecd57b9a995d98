from __future__ import annotations

import numpy as np
import pytest

from keras_slstm.text.pair_batches import PairBatches


def sentences(count=53, seed=0):
    """Sentence i of a side holds one number only, so that a padded row names its pair."""
    lengths = np.random.default_rng(seed).integers(1, 30, count)
    return [[i + 1] * int(length) for i, length in enumerate(lengths)]


def test_every_pair_once_with_its_label_and_weight():
    first, second = sentences(), sentences(seed=1)
    labels = np.arange(53) % 3
    weights = np.arange(53) / 10
    batches = PairBatches(first, second, labels, weights, batch_size=8, multiple_of=4)
    for _ in range(2):
        batches.on_epoch_begin()
        seen = []
        for index, (x, y, w) in enumerate(batches):
            assert x.dtype == np.int32
            assert y.dtype == np.int32
            assert (len(x), x.shape[2]) == batches.shape_of(index)
            assert x.shape[1] == 2
            assert x.shape[2] % 4 == 0
            for (one, other), label, weight in zip(x, y, w):
                i = int(one[0]) - 1
                seen.append(i)
                assert one[one != 0].tolist() == first[i]
                assert other[other != 0].tolist() == second[i]
                assert (one[len(first[i]) :] == 0).all()
                assert (other[len(second[i]) :] == 0).all()
                assert (label, weight) == (labels[i], np.float32(weights[i]))
        assert sorted(seen) == list(range(53))


def test_pairs_are_batched_by_the_longer_sentence():
    first, second = [[1], [1, 2, 3], [1]], [[1, 2, 3], [1], [1]]
    batches = PairBatches(first, second, shuffle=False, batch_size=1, multiple_of=1)
    assert sorted(x.shape for (x,) in batches) == [(1, 2, 1), (1, 2, 3), (1, 2, 3)]


def test_distributions_as_labels():
    [(_, y)] = PairBatches([[1], [2]], [[3], [4]], np.array([[0.25, 0.75], [1, 0]]), shuffle=False)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, [[0.25, 0.75], [1, 0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "no sentence"),
        (([[1]], []), "1 sentences, but 0 `second`"),
        (([[1]], [[]]), "Sentence 0"),
        (([[1], []], [[1], [2]]), "Sentence 1"),
        (([[1]], [[1]], [0, 1]), "1 sentences, but 2 `labels`"),
        (([[1]], [[1]], [0], []), "0 `sample_weight`"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        PairBatches(*arguments)
