"""Batches of a prepared corpus."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import SentenceClassifier, distribute
from keras_slstm.streaming import StreamedBatches, drafts, prepare_corpus, sources
from keras_slstm.text import TextVectorizer
from keras_slstm.text.batches import TextBatches
from keras_slstm.training import TrainingRun
from keras_slstm.training.state import RestOfEpoch

pytest.importorskip("array_record")

COUNT = 203
NO_TENSORS = pytest.mark.backends("torch")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The last word of each text is its number."""
    folder = tmp_path_factory.mktemp("corpus")
    lengths = np.random.default_rng(0).integers(1, 60, COUNT)
    rows = [f"{'ab'[i % 2]}\t{'x ' * length}n{i}\n" for i, length in enumerate(lengths)]
    (folder / "a.tsv").write_text("label\ttext\n" + "".join(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "BLOCK", 16)
        patch.setattr(drafts, "SHARD_BLOCKS", 3)
        return prepare_corpus(folder / "a.tsv", folder / "out", TextVectorizer(min_count=1))


def _last_words(corpus, batches):
    """The numbers of the texts, from their last words."""
    words = [row[row > 0][-1] for x, _ in batches for row in x]
    return [int(corpus.vectorizer.vocabulary[word][1:]) for word in words]


def _all(batches):
    return [batches[i] for i in range(len(batches))]


def _equal(some, others):
    assert len(some) == len(others)
    for batch, other in zip(some, others):
        for array, expected in zip(batch, other):
            np.testing.assert_array_equal(array, expected)


@NO_TENSORS
@pytest.mark.parametrize("shuffle", [True, False])
def test_every_text_occurs_once_with_its_label(corpus, shuffle):
    batches = StreamedBatches(corpus, 8, window=5, shuffle=shuffle)
    read = _all(batches)
    numbers = _last_words(corpus, read)
    assert sorted(numbers) == list(range(COUNT))
    assert np.concatenate([y for _, y in read]).tolist() == [number % 2 for number in numbers]
    assert [len(y) for _, y in read].count(8) == COUNT // 8


@NO_TENSORS
def test_epochs_differ_and_follow_the_seed(corpus):
    orders = {}
    for seed in (0, 1):
        batches = StreamedBatches(corpus, 8, window=5, seed=seed)
        for epoch in (0, 1):
            batches.begin_epoch(epoch)
            orders[seed, epoch] = tuple(_last_words(corpus, _all(batches)))
    assert len(set(orders.values())) == 4
    again = StreamedBatches(corpus, 8, window=5, seed=1)
    again.set_epoch(1)
    again.on_epoch_begin()
    assert tuple(_last_words(corpus, _all(again))) == orders[1, 1]


@NO_TENSORS
@pytest.mark.parametrize("step", [1, 7, 13, 25])
def test_batches_after_a_resume_equal_those_without_interruption(corpus, step):
    whole = StreamedBatches(corpus, 8, window=5, seed=3)
    whole.begin_epoch(2)
    rest = RestOfEpoch(StreamedBatches(corpus, 8, window=5, seed=3), epoch=2, step=step)
    rest.on_epoch_begin()
    _equal(_all(rest), _all(whole)[step:])


@NO_TENSORS
def test_workers_read_different_texts_and_the_same_number_of_batches(corpus):
    workers = [StreamedBatches(corpus, 8, window=3, seed=1, share=(i, 3)) for i in range(3)]
    seen = [_last_words(corpus, _all(batches)) for batches in workers]
    assert {len(batches) for batches in workers} == {9}
    assert len({number for numbers in seen for number in numbers}) == sum(map(len, seen)) == 201


@NO_TENSORS
def test_padding_is_bounded(corpus):
    def waste(batches):
        return 1 - sum((x > 0).sum() for x, _ in batches) / sum(x.size for x, _ in batches)

    sorted_waste = waste(_all(StreamedBatches(corpus, 8, window=13, multiple_of=4, max_lengths=None)))
    random_waste = waste(_all(StreamedBatches(corpus, 8, window=2, multiple_of=4, max_lengths=None)))
    assert sorted_waste < 0.12 < random_waste


@NO_TENSORS
def test_padded_lengths_equal_those_in_memory(corpus):
    streamed = _all(StreamedBatches(corpus, 1, multiple_of=2, max_lengths=3))
    lengths = [int((x > 0).sum()) for x, _ in streamed]
    in_memory = TextBatches([[2] * length for length in lengths], batch_size=1, multiple_of=2, max_lengths=3)
    assert sorted(x.shape[1] for x, _ in streamed) == sorted(x.shape[1] for (x,) in in_memory)
    assert len({x.shape[1] for x, _ in streamed}) == 3


@NO_TENSORS
def test_at_most_two_windows_are_in_memory(corpus):
    batches = StreamedBatches(corpus, 4, window=2)
    for i in range(len(batches)):
        batches[i]
        assert len(batches._loaded) <= 2
    assert batches.waited > 0


@NO_TENSORS
def test_wrong_arguments(corpus):
    with pytest.raises(ValueError, match="share"):
        StreamedBatches(corpus, share=(2, 2))
    with pytest.raises(ValueError, match="window"):
        StreamedBatches(corpus, window=0)
    with pytest.raises(IndexError, match="so there is no batch 26"):
        StreamedBatches(corpus, 8)[26]


def _classifier(corpus):
    keras.utils.set_random_seed(0)
    options = {"units": 4, "embedding_dim": 4, "encoder_options": {"steps": 1}}
    model = SentenceClassifier(corpus.labels, vectorizer=corpus.vectorizer, **options)
    model.compile(keras.optimizers.SGD(0.5))
    return model


def test_a_model_fits(corpus):
    """`fit` follows the epochs of the batches on each backend."""
    model, batches = _classifier(corpus), StreamedBatches(corpus, 16, window=4, multiple_of=64, seed=5)
    history = model.fit(batches, epochs=2, validation_data=StreamedBatches(corpus, 16, shuffle=False), verbose=0)
    assert len(history.history["val_loss"]) == 2
    assert batches._epoch == 1


@NO_TENSORS
def test_distributed_training_follows_the_epochs(corpus):
    model = keras.Sequential(
        [keras.layers.Embedding(1000, 2), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss=loss)
    batches = StreamedBatches(corpus, 16, window=4, seed=5)
    distribute.fit(model, batches, epochs=8, initial_epoch=7, verbose=0)
    assert batches._epoch == 7


class _Stop(keras.callbacks.Callback):
    def __init__(self, after):
        super().__init__()
        self.left = after

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@NO_TENSORS  # for other backends, see `RestOfEpoch` above and the tests of `TrainingRun`
def test_a_training_resumes_in_the_middle_of_an_epoch(corpus, tmp_path):
    """The weights equal those of an uninterrupted training bit by bit."""
    weights = []
    for name, stops in (("whole", []), ("interrupted", [9])):
        for stop in [*stops, None]:
            run = TrainingRun(tmp_path / name, {"seed": 0})
            model, batches = _classifier(corpus), StreamedBatches(corpus, 16, window=4, multiple_of=64, seed=5)
            callbacks = [] if stop is None else [_Stop(stop)]
            try:
                run.fit(
                    model, batches, epochs=2, save_every=2, monitor="loss", mode="min", callbacks=callbacks, verbose=0
                )
            except KeyboardInterrupt:
                assert stop is not None
        weights.append(model.get_weights())
    for value, expected in zip(*weights, strict=True):
        np.testing.assert_array_equal(value, expected)
