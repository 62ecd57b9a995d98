"""The rest of an interrupted epoch."""

from __future__ import annotations

import keras
import pytest

from keras_slstm.training.state import RestOfEpoch


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        if not 0 <= index < 4:
            raise IndexError(index)
        return index


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_the_rest_begins_after_the_batches_of_before(step):
    rest = RestOfEpoch(Batches(), epoch=0, step=step)
    rest.on_epoch_begin()
    assert [rest[index] for index in range(len(rest))] == [0, 1, 2, 3][step:]


def test_a_single_batch_that_is_left_is_the_last_one_at_once():
    assert RestOfEpoch(Batches(), epoch=0, step=3)[0] == 3
