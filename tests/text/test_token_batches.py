import numpy as np
import pytest

from keras_slstm.text.token_batches import TokenBatches

LENGTHS = [3, 1, 5, 2, 4, 5]
IDS = [[10 * i + j + 2 for j in range(n)] for i, n in enumerate(LENGTHS)]
CHARACTERS = [[[j + 2] * (i + 1) for j in range(n)] for i, n in enumerate(LENGTHS)]
LABELS = [[(i + j) % 3 for j in range(n)] for i, n in enumerate(LENGTHS)]


def test_words_characters_and_labels_stay_together():
    batches = TokenBatches(
        IDS, LABELS, [float(i) for i in range(6)], characters=CHARACTERS, batch_size=2, multiple_of=4
    )
    seen = []
    for index, chosen in enumerate(batches.order):
        inputs, labels, weights = batches[index]
        assert inputs["words"].shape == labels.shape == inputs["characters"].shape[:2]
        assert inputs["words"].shape[1] in (4, 8)
        assert inputs["characters"].shape[2] == 8  # the longest word has 6 characters; all batches have one width
        for row, i in enumerate(chosen):
            n = LENGTHS[i]
            assert inputs["words"][row, :n].tolist() == IDS[i]
            assert labels[row, :n].tolist() == LABELS[i]
            assert weights[row] == i
            for j, word in enumerate(CHARACTERS[i]):
                assert inputs["characters"][row, j, : len(word)].tolist() == word
                assert not np.any(inputs["characters"][row, j, len(word) :])
            assert not np.any(inputs["words"][row, n:])
            assert not np.any(inputs["characters"][row, n:])
            assert np.all(labels[row, n:] == -1)
            seen.append(i)
    assert sorted(seen) == list(range(6))
    assert {array.dtype for array in (*inputs.values(), labels)} == {np.dtype("int32")}


def test_without_characters_and_labels():
    [batch] = TokenBatches(IDS, batch_size=8)
    [inputs] = batch
    assert set(inputs) == {"words"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ids": []}, "no sentence"),
        ({"ids": [[2], []]}, "Sentence 1 of `ids` has no word"),
        ({"ids": [[2], [3]], "labels": [[0]]}, "2 sentences, but 1 `labels`"),
        ({"ids": [[2], [3, 4]], "labels": [[0], [0]]}, "Sentence 1 has 2 words, but 1 `labels`"),
        ({"ids": [[2]], "characters": [[[1], [2]]]}, "Sentence 0 has 1 words, but 2 `characters`"),
        ({"ids": [[2]], "sample_weight": [1.0, 2.0]}, "1 sentences, but 2 `sample_weight`"),
        ({"ids": [[2]], "batch_size": 0}, "batch_size"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        TokenBatches(**arguments)
