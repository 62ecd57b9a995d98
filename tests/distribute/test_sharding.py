"""The replicas' parts of a batch contain every row once, in order, with its weight."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from tests.backend import BACKEND

if BACKEND != "tensorflow":
    pytest.skip("tf.distribute is TensorFlow's", allow_module_level=True)

import tensorflow as tf

from keras_slstm.distribute.batches import Epoch
from keras_slstm.distribute.sharding import CHECK, PART, SHARE, make_source, part, replicate
from keras_slstm.text.batches import TextBatches


class Strategy:
    """A stand-in for a strategy with several processes and replicas."""

    def __init__(self, processes, index, replicas):
        self.num_replicas_in_sync = processes * replicas
        self.context = tf.distribute.InputContext(processes, index, self.num_replicas_in_sync)

    def distribute_datasets_from_function(self, make):
        return make(self.context)


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_every_row_is_in_one_part(rows, replicas):
    x = np.arange(rows)
    parts = [part((tf.constant(x),), tf.constant(r, tf.int64), replicas) for r in range(replicas)]
    shares = [float(p[SHARE]) for p in parts]
    values = [p[PART][0].numpy() for p in parts]
    assert np.concatenate([v for v, share in zip(values, shares) if share]).tolist() == x.tolist()
    assert all(len(v) for v in values)
    np.testing.assert_allclose(sum(shares), replicas, rtol=1e-6)
    # The sum over the replicas of (mean of the part) / replicas * share is the mean over the batch.
    np.testing.assert_allclose(sum(v.mean() / replicas * s for v, s in zip(values, shares)), x.mean(), rtol=1e-6)


def _elements(source, processes, replicas, **options):
    return [list(replicate(Strategy(processes, i, replicas), source, **options)) for i in range(processes)]


def test_processes_and_replicas_get_consecutive_rows():
    x, y = np.arange(10.0), np.arange(10)
    source = make_source({"a": x}, y, batch_size=6)
    assert source.length == 2
    processes = _elements(source, 2, 2)
    for elements in processes:
        assert len(elements) == 4  # two batches, two replicas
        assert all(e[PART][0]["a"].dtype == "float32" for e in elements)
    found = [[e[PART][1].numpy().tolist() for e in elements] for elements in processes]
    assert found == [[[0], [1, 2], [6], [7]], [[3], [4, 5], [8], [9]]]
    checks = [[int(e[CHECK]) for e in elements] for elements in processes]
    assert checks[0] == checks[1]
    assert checks[0][0] == checks[0][1] != checks[0][2]


def test_the_check_detects_a_change_in_any_array():
    x, y, w = np.arange(6), np.arange(6), np.ones(6)
    (before,) = _elements(make_source(x, y, w), 1, 1)[0]
    for changed in range(3):
        arrays = [x.copy(), y.copy(), w.copy()]
        arrays[changed][4] += 1
        (after,) = _elements(make_source(*arrays), 1, 1)[0]
        assert int(after[CHECK]) != int(before[CHECK])


def test_arrays_are_shuffled_by_seed_and_epoch():
    x = np.arange(20)

    def order(seed, epoch):
        place = Epoch()
        place.begin(epoch)
        source = make_source(x, batch_size=7, shuffle=True, seed=seed, epoch=place)
        return np.concatenate([batch[0] for batch in source.batches()]).tolist()

    assert order(0, 0) == order(0, 0)
    assert sorted(order(0, 0)) == x.tolist()
    assert len({tuple(order(seed, epoch)) for seed in (0, 1) for epoch in (0, 1)}) == 4


def test_batches_of_the_package_keep_their_order():
    batches = TextBatches([[1] * n for n in (3, 5, 2, 9, 7)], labels=[0, 1, 2, 3, 4], batch_size=2, multiple_of=1)
    batches.set_epoch(3)
    batches.on_epoch_begin()
    expected = [batches[i][1].tolist() for i in range(3)]
    batches.set_epoch(3)
    source = make_source(batches)
    assert [batch[1].tolist() for batch in source.batches()] == expected
    assert source.signature[0].shape.as_list() == [None, None]


def test_class_weights_become_sample_weights():
    (element,) = _elements(make_source(np.zeros(3), np.array([0, 2, 1])), 1, 1, class_weight={0: 5.0, 1: 2.0})[0]
    assert element[PART][2].numpy().tolist() == [5, 1, 2]
    (element,) = _elements(make_source(np.zeros(2), np.eye(3)[[1, 0]]), 1, 1, class_weight={0: 5.0, 1: 2.0})[0]
    assert element[PART][2].numpy().tolist() == [2, 5]
    with pytest.raises(ValueError, match="needs labels, and cannot be combined with sample weights"):
        _elements(make_source(np.zeros(3), np.array([0, 2, 1]), np.ones(3)), 1, 1, class_weight={0: 5.0})


def test_a_tf_dataset_of_dicts():
    data = tf.data.Dataset.from_tensor_slices({"a": np.arange(5)}).batch(3)
    source = make_source(data)
    assert source.length == 2
    (elements,) = _elements(source, 1, 2)
    assert [e[PART][0]["a"].numpy().tolist() for e in elements] == [[0], [1, 2], [3], [4]]


class Endless(keras.utils.PyDataset):
    num_batches = None

    def __getitem__(self, index):
        return np.zeros(2), np.zeros(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None,), "must hold arrays"),
        ((iter([1]),), "number of batches of a list_iterator is unknown: pass `steps_per_epoch`"),
        ((np.zeros(3), np.zeros(2)), r"same number of rows, but they have \[3, 2\]"),
        ((np.zeros((0, 2)),), "`x` is empty"),
        ((np.zeros(2), [0, 1]), "lists of numbers to arrays"),
        ((np.zeros(3), None, np.zeros(3)), "needs labels"),
        ((Endless(),), "Endless must have `__len__`"),
        ((TextBatches([[1]]), np.zeros(3)), "`y` cannot be given with TextBatches"),
        ((TextBatches([[1]]), None, None, 3), "`batch_size` cannot be given with TextBatches"),
    ],
)
def test_invalid_data_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_source(*arguments)
