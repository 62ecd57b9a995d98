from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_slstm import distribute
from keras_slstm.distribute import private, strategies
from keras_slstm.distribute.agreement import gather
from tests.backend import BACKEND


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    for name in ("TF_CONFIG", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)


def test_one_device_is_as_without_a_strategy():
    with distribute.strategy().scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    x = np.ones((3, 2), "float32")
    history = distribute.fit(model, x, x[:, :1], epochs=2, verbose=0, seed=3)
    assert len(history.history["loss"]) == 2
    assert np.isscalar(distribute.evaluate(model, x, x[:, :1], verbose=0))
    assert distribute.predict(model, x, verbose=0).shape == (3, 1)
    assert distribute.is_chief()
    assert gather([3, -4, 2**40]) == [[3, -4, 2**40]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "many"}, "must be one of.*'many'"),
        ({"timeout": 0}, "positive number of seconds, but got 0"),
        ({"name": "multi_worker"}, "needs a cluster"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        distribute.strategy(**arguments)


@pytest.mark.skipif(BACKEND != "torch", reason="the others have several devices")
def test_torch_has_one_process(monkeypatch):
    task = '"task": {"type": "worker", "index": 0}'
    monkeypatch.setenv("TF_CONFIG", f'{{"cluster": {{"worker": ["a:1", "b:1"]}}, {task}}}')
    with pytest.raises(ValueError, match="on the backend torch: use TensorFlow or JAX"):
        distribute.strategy()


def test_a_process_joins_once(monkeypatch):
    cluster = distribute.Cluster(("a:1", "b:1"), 1)
    there = object()
    monkeypatch.setattr(strategies, "_joined", strategies.Joined(cluster, there))
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}')
    assert distribute.strategy() is there
    assert not distribute.is_chief()
    with pytest.raises(ValueError, match="has joined a cluster"):
        distribute.strategy("cpu")


def test_a_keras_without_the_private_names_is_named():
    class Model:
        pass

    with (
        pytest.raises(RuntimeError, match=rf"`Model._maybe_symbolic_build`, which Keras {keras.__version__} does not"),
        private.without_symbolic_build(Model()),
    ):
        pass
    with (
        pytest.raises(RuntimeError, match=r"`Model\._all_reduce_sum_gradients`"),
        private.without_sum_of_gradients(Model()),
    ):
        pass
