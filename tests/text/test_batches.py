import keras
import numpy as np
import pytest

from keras_slstm.text.batches import TextBatches


def sentences(count=103, seed=0):
    """Sentence i holds the number i + 1 only, so that a padded row names its sentence."""
    lengths = np.random.default_rng(seed).integers(1, 40, count)
    return [[i + 1] * int(length) for i, length in enumerate(lengths)]


def seen(batches):
    return [int(row[0]) - 1 for x, *_ in batches for row in x]


def test_every_sentence_once_with_its_label_and_weight():
    ids = sentences()
    labels = np.arange(len(ids)) % 7
    weights = np.arange(len(ids)) / 10
    batches = TextBatches(ids, labels, weights, batch_size=10, multiple_of=4)
    for _ in range(3):
        batches.on_epoch_begin()
        assert sorted(seen(batches)) == list(range(len(ids)))
        for x, y, w in batches:
            assert x.dtype == np.int32
            for row, label, weight in zip(x, y, w):
                position = int(row[0]) - 1
                assert row[row != 0].tolist() == ids[position]
                assert (row[len(ids[position]) :] == 0).all()  # padding is on the right only
                assert label == labels[position]
                assert weight == np.float32(weights[position])


def test_lengths_of_a_batch_are_similar_and_shapes_are_few():
    batches = TextBatches(sentences(1000), batch_size=10, multiple_of=8)
    shapes = {x.shape for (x,) in batches}
    assert {shape[1] for shape in shapes} <= {8, 16, 24, 32, 40}
    assert len(shapes) <= 6  # five lengths, and the one smaller batch
    padding = np.mean([np.mean(x == 0) for (x,) in batches])
    arrival = [sentences(1000)[i : i + 10] for i in range(0, 1000, 10)]
    unsorted_padding = np.mean([1 - np.mean([len(r) for r in rows]) / max(map(len, rows)) for rows in arrival])
    assert padding < unsorted_padding / 2


def test_order_depends_on_seed_and_epoch_alone():
    def epochs(seed, first, count):
        batches = TextBatches(sentences(), batch_size=10, seed=seed)
        batches.set_epoch(first)
        result = []
        for _ in range(count):
            batches.on_epoch_begin()
            result.append(seen(batches))
        return result

    whole = epochs(5, 0, 4)
    assert whole[2:] == epochs(5, 2, 2)
    assert whole[0] != whole[1]
    assert whole[0] != epochs(6, 0, 1)[0]


def test_without_shuffling_outputs_can_be_reordered():
    ids = sentences()
    batches = TextBatches(ids, batch_size=10, shuffle=False)
    first = seen(batches)
    batches.on_epoch_begin()
    assert first == seen(batches)
    np.testing.assert_array_equal(batches.restore_order(np.array(first)), np.arange(len(ids)))


def test_first_two_batches_differ_in_length_and_the_first_is_full():
    # Keras fixes on TensorFlow what the first two batches share.
    for seed in range(20):
        batches = TextBatches(sentences(33), batch_size=4, multiple_of=8, seed=seed)
        for _ in range(5):
            batches.on_epoch_begin()
            assert batches[0][0].shape[0] == 4
            assert batches[0][0].shape[1] != batches[1][0].shape[1]


def train(epochs, initial_epoch, log):
    class Logged(TextBatches):
        def on_epoch_begin(self):
            super().on_epoch_begin()
            log.append(seen(self))

    batches = Logged(sentences(50), [i % 2 for i in range(50)], batch_size=8)
    model = keras.Sequential(
        [keras.layers.Embedding(60, 4), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss=loss, jit_compile=False)
    callbacks = [batches.follow_epochs()]
    model.fit(batches, epochs=epochs, initial_epoch=initial_epoch, shuffle=False, callbacks=callbacks, verbose=0)
    return int(model.optimizer.iterations)


def test_keras_trains_on_all_of_it_and_a_resumed_training_sees_the_same():
    whole, rest = [], []
    assert train(3, 0, whole) == 3 * 7
    assert train(3, 2, rest) == 7
    assert whole[-1] == rest[-1]
    assert whole[-1] != whole[-2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ids": []}, "no sentence"),
        ({"ids": [[1], []]}, "Sentence 1"),
        ({"ids": [[1]], "labels": [0, 1]}, "1 sentences, but 2 `labels`"),
        ({"ids": [[1]], "labels": [0], "sample_weight": []}, "0 `sample_weight`"),
        ({"ids": [[1]], "batch_size": 0}, "batch_size"),
        ({"ids": [[1]], "multiple_of": 0}, "multiple_of"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        TextBatches(**arguments)


def test_characters_stay_with_their_words():
    ids, characters = [[2, 3], [4], [5]], [[[2], [3, 4]], [[5] * 9], [[]]]
    batches = TextBatches(ids, [0, 1, 0], batch_size=2, multiple_of=1, shuffle=False, characters=characters)
    (first, labels), (second, _) = (batches[i] for i in range(2))
    assert {first["characters"].shape[2], second["characters"].shape[2]} == {16}
    seen = {}
    for inputs, _ in (batches[i] for i in range(2)):
        for words, spelled in zip(inputs["words"], inputs["characters"]):
            for word, letters in zip(words, spelled):
                seen[int(word)] = [int(letter) for letter in letters if letter]
    seen.pop(0, None)
    assert seen == {2: [2], 3: [3, 4], 4: [5] * 9, 5: []}
    assert len(labels) == 2
    with pytest.raises(ValueError, match="Sentence 1 has 1 words, but 2 `characters`"):
        TextBatches([[2], [3]], characters=[[[2]], [[2], [3]]])


def test_a_small_data_set_is_repeated_within_an_epoch():
    ids = sentences(23)
    batches = TextBatches(ids, batch_size=10, min_batches=7)
    assert len(batches) == 9  # three batches a pass
    counts = np.bincount(seen(batches))
    assert counts.tolist() == [3] * 23
    first = [tuple(batch) for batch in batches.order[:3]]
    assert first != [tuple(batch) for batch in batches.order[3:6]]
    assert len(TextBatches(ids, batch_size=10, min_batches=3)) == 3
    with pytest.raises(ValueError, match="min_batches"):
        TextBatches(ids, min_batches=0)


def test_random_samples_hold_all_lengths():
    ids = sentences(200)
    lengths = np.array([len(row) for row in ids])
    batches = TextBatches(ids, batch_size=40, by_length=False)
    means = [lengths[batch].mean() for batch in batches.order]
    assert sorted(seen(batches)) == list(range(200))
    assert max(means) - min(means) < 10
    of_similar_length = [lengths[batch].mean() for batch in TextBatches(ids, batch_size=40).order]
    assert max(of_similar_length) - min(of_similar_length) > 20
    assert [len(batches[i][0][0]) for i in range(5)] == [batches.shape_of(i)[1] for i in range(5)]
