"""The rest of an interrupted epoch."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest

from keras_slstm.training.state import RestOfEpoch, random_state, set_random_state
from tests.backend import to_numpy


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        if not 0 <= index < 4:
            raise IndexError(index)
        return index


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_the_rest_starts_after_the_previous_batches(step):
    rest = RestOfEpoch(Batches(), epoch=0, step=step)
    rest.on_epoch_begin()
    assert [rest[index] for index in range(len(rest))] == [0, 1, 2, 3][step:]


def test_a_single_remaining_batch_is_the_last_one():
    assert RestOfEpoch(Batches(), epoch=0, step=3)[0] == 3


def test_random_state_reproduces_the_draws():
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dropout(0.5)])
    x = np.ones((20, 3), "float32")
    state = json.loads(json.dumps(random_state(model)))
    assert ("torch" in state) == (keras.backend.backend() == "torch")  # only PyTorch draws without a seed of Keras
    first, second = (to_numpy(model(x, training=True)) for _ in range(2))
    assert (first != second).any()
    set_random_state(model, state)
    np.testing.assert_array_equal(to_numpy(model(x, training=True)), first)
