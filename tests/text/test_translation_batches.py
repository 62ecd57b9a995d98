import numpy as np
import pytest

from keras_slstm.text.translation_batches import TranslationBatches

SOURCES = [[5, 2], [6, 7, 8, 9, 2], [5, 6, 2]]
TARGETS = [[1, 9, 9, 9, 2], [1, 4, 2], [1, 2]]


def test_every_pair_comes_once_padded_to_one_length():
    batches = TranslationBatches(SOURCES, TARGETS, sample_weight=[1, 2, 3], batch_size=2, multiple_of=3, shuffle=False)
    seen = {}
    for inputs, labels, weights in batches:
        assert inputs["source"].shape == inputs["target"].shape == labels.shape
        assert inputs["source"].dtype == inputs["target"].dtype == labels.dtype == np.int32
        for source, target, label, weight in zip(inputs["source"], inputs["target"], labels, weights):
            seen[int(weight)] = [[int(i) for i in row if i > 0] for row in (source, target, label)]
    assert seen == {
        1: [SOURCES[0], [1, 9, 9, 9], [9, 9, 9, 2]],
        2: [SOURCES[1], [1, 4], [4, 2]],
        3: [SOURCES[2], [1], [2]],
    }
    assert [batches.shape_of(i) for i in range(len(batches))] == [(2, 6), (1, 6)]  # lengths 4, 5 and 3 in threes
    assert (batches[0][1] == -1).sum() == (batches[0][0]["target"] == 0).sum()  # padding has no label


def test_without_targets():
    (inputs,) = TranslationBatches(SOURCES, multiple_of=1)[0]
    assert list(inputs) == ["source"]
    assert inputs["source"].shape == (3, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SOURCES, TARGETS[:2]), "3 sentences, but 2 `targets`"),
        (([[5], []], TARGETS[:2]), "Source 1 is empty"),
        ((SOURCES[:2], [[1, 2], [1]]), r"Target 1 must begin .* \[1\]"),
        (([], []), "no sentence"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        TranslationBatches(*arguments)
