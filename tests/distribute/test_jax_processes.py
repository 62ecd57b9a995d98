"""Two processes on JAX train what one does."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from keras_slstm.data.batches import TextBatches
from keras_slstm.distribute.jax_processes import PartOfBatches
from keras_slstm.distribute.launcher import Workers
from tests.backend import BACKEND
from tests.distribute import programs


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 3.0]])
def test_parts_add_up_to_the_mean(weights):
    data = TextBatches([[1], [2], [3]], labels=[1, 2, 3], sample_weight=weights, batch_size=3, shuffle=False)
    parts = [PartOfBatches(data, index, 2, devices=4)[0] for index in (0, 1)]
    assert [part[1].tolist() for part in parts] == [[1, 2], [3, 3]]
    assert all(part[0].shape == (2, 8) for part in parts)
    values = np.concatenate([part[1] * part[2] for part in parts])
    np.testing.assert_allclose(values.mean(), np.mean(np.array([1, 2, 3]) * (weights or 1)), rtol=1e-6)


@pytest.mark.skipif(BACKEND != "jax", reason="keras.distribution is for JAX")
@pytest.mark.xdist_group("two_processes")
def test_two_processes(tmp_path):
    command = [sys.executable, "-m", "tests.distribute.programs", "train_by_batches", str(tmp_path)]
    with Workers(command, 2, logs=tmp_path) as workers:
        statuses = workers.wait(600.0)
    assert statuses == [0, 0], (tmp_path / "worker-0.log").read_text(errors="replace")[-4000:]
    first, second = (dict(np.load(tmp_path / f"found-{index}.npz")) for index in (0, 1))
    truth = programs.train_by_batches()
    for name, expected in truth.items():
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
        if "/weights/" in name:
            np.testing.assert_allclose(first[name], expected, atol=1e-5, err_msg=name)
