from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
import time
import types

import keras
import numpy as np
import pytest

from keras_slstm import distribute
from keras_slstm.distribute import collectives, keras_internals, strategies
from keras_slstm.distribute.channel import Channel
from keras_slstm.distribute.collectives import all_gather
from keras_slstm.distribute.launcher import free_ports
from tests.backend import BACKEND
from tests.processes import run_python

CLUSTER = '{{"cluster": {{"worker": {}}}, "task": {{"type": "worker", "index": {}}}}}'


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    for name in ("TF_CONFIG", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)


def test_one_device_equals_no_strategy():
    with distribute.strategy().scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    x = np.ones((3, 2), "float32")
    history = distribute.fit(model, x, x[:, :1], epochs=2, verbose=0, seed=3)
    assert len(history.history["loss"]) == 2
    assert np.isscalar(distribute.evaluate(model, x, x[:, :1], verbose=0))
    assert distribute.predict(model, x, verbose=0).shape == (3, 1)
    assert distribute.is_chief()
    assert all_gather([3, -4, 2**40]) == [[3, -4, 2**40]]
    distribute.check_equal({"a": 1})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "many"}, "must be one of.*'many'"),
        ({"timeout": 0}, "positive number of seconds, but got 0"),
        ({"timeout": float("nan")}, "positive number of seconds, but got nan"),
        ({"name": "multi_worker"}, "needs a cluster"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        distribute.strategy(**arguments)


@pytest.mark.skipif(BACKEND != "torch", reason="other backends have several devices")
def test_torch_has_one_device_in_a_process():
    with pytest.raises(ValueError, match="on the backend torch cannot train on several devices: start one process"):
        distribute.strategy("mirrored")


def test_a_process_joins_once(monkeypatch):
    joined, strategy = types.SimpleNamespace(cluster=distribute.Cluster(("a:1", "b:1"), 1)), object()
    monkeypatch.setattr(collectives, "_channel", joined)
    monkeypatch.setattr(strategies, "_joined", (joined.cluster, strategy))
    monkeypatch.setenv("TF_CONFIG", CLUSTER.format('["a:1", "b:1"]', 1))
    assert distribute.strategy() is strategy
    assert not distribute.is_chief()
    with pytest.raises(ValueError, match="has joined a cluster"):
        distribute.strategy("cpu")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (keras_internals.without_symbolic_build, "Model._maybe_symbolic_build"),
        (keras_internals.without_sum_of_gradients, "Model._all_reduce_sum_gradients"),
        (keras_internals.with_local_updates, "Model._backend_update_step"),
        (lambda model: keras_internals.with_added_losses(model, abs), "Model._aggregate_additional_loss"),
        (lambda model: keras_internals.replaced_call(model, abs), "Model.call"),
    ],
)
def test_a_keras_without_the_private_names_is_reported(change, name):
    model = type("Model", (), {})()
    with pytest.raises(RuntimeError, match=rf"`{name}`, which Keras {keras.__version__} does not"), change(model):
        pass


def test_a_cluster_that_is_not_joined_is_reported(monkeypatch, recwarn):
    monkeypatch.setenv("TF_CONFIG", CLUSTER.format('["a:1"]', 0))
    distribute.strategy("cpu")
    monkeypatch.setenv("TF_CONFIG", "{")
    distribute.strategy("cpu")
    assert not recwarn
    monkeypatch.setenv("TF_CONFIG", CLUSTER.format('["a:1", "b:1"]', 1))
    with pytest.warns(
        UserWarning, match=r"strategy\('cpu'\) trains in this process alone.*describe 2 processes"
    ) as caught:
        distribute.strategy("cpu")
    assert caught[0].filename == __file__


@pytest.fixture(autouse=True)
def _young(monkeypatch):
    """Make the process look young, because the timeout of `strategy` counts from its start, many tests ago."""
    monkeypatch.setattr(strategies, "process_age", lambda: 1.0)


def _set_cluster(monkeypatch, index):
    addresses = [f"localhost:{port}" for port in free_ports(2)]
    monkeypatch.setenv("TF_CONFIG", CLUSTER.format(json.dumps(addresses), index))
    return addresses


@pytest.mark.parametrize("index", [0, 1])
def test_a_process_that_never_starts(monkeypatch, index):
    """The time counts from the start of this process."""
    monkeypatch.setattr(strategies, "process_age", lambda: 300.0)
    addresses = _set_cluster(monkeypatch, index)
    began = time.monotonic()
    with pytest.raises(distribute.WorkerLost, match=rf"no connection to {addresses[1 - index]} \(process"):
        distribute.strategy(timeout=300.3)
    assert time.monotonic() - began < 5
    assert collectives.joined_cluster() is None


def test_a_taken_port(monkeypatch):
    addresses = _set_cluster(monkeypatch, 0)
    with (
        socket.create_server(("localhost", int(addresses[0].split(":")[1]))),
        pytest.raises(distribute.WorkerLost, match=rf"cannot listen on its address {addresses[0]}.*in use"),
    ):
        distribute.strategy()


@pytest.mark.parametrize("python", ["3.1.4", None])
def test_versions_and_the_deadline(monkeypatch, python):
    """The other process is a thread. The backend gets the rest of the timeout, and then ends the process."""
    addresses = _set_cluster(monkeypatch, 0)
    versions = strategies.describe_versions()
    if python:
        versions["version"]["python"] = python
    told = []

    def other():
        connection = Channel(distribute.Cluster(tuple(addresses), 1), 20.0, (0, 1))
        flat = collectives.flatten(versions)
        digest = collectives.digest_of(flat)
        told.append(connection.all_gather("versions", digest))
        if python:
            told.append(connection.all_gather("versions", flat))
        connection.close()

    def connect(*arguments):
        raise ValueError(f"connected with {arguments[1:]}")

    def end_process_after(*limit):
        limits.append(limit)
        return contextlib.nullcontext()

    limits = []
    monkeypatch.setattr(strategies, "end_process_after", end_process_after)
    monkeypatch.setattr(strategies, "_multi_worker_strategy", connect)
    monkeypatch.setattr(strategies, "_multi_process_distribution", connect)
    monkeypatch.setattr(strategies, "TorchProcesses", connect)
    thread = threading.Thread(target=other)
    thread.start()
    message = (
        rf"python is '.*' on process 0 \({addresses[0]}\) and '3.1.4' on" if python else "connected with .20.0, [0-9]"
    )
    with pytest.raises(ValueError, match=message):
        distribute.strategy(timeout=20.0)
    thread.join()
    assert len(limits) == (not python)
    if limits:
        assert 1 < limits[0][0] <= 21
        assert f"has not connected the processes {addresses[0]}" in limits[0][1]


BLOCKED = """
from keras_slstm import distribute
from keras_slstm.distribute import strategies
strategies.process_age = lambda: 0.0  # imports take long on a busy machine
print("calls", flush=True)
try:
    distribute.strategy(timeout=8.0)
except distribute.WorkerLost as error:
    raise SystemExit(f"{error}")
"""


@pytest.mark.short_run
def test_a_backend_that_blocks_while_it_connects_is_ended(tmp_path):
    """The chief, a thread here, agrees to everything but never starts its backend, so the other blocks in C++."""
    addresses = [f"localhost:{port}" for port in free_ports(2)]
    said = []

    def chief():
        connection = Channel(distribute.Cluster(tuple(addresses), 0), 200.0, (0,))
        digest = collectives.digest_of(collectives.flatten(strategies.describe_versions()))
        said.append(connection.all_gather("versions", digest))
        done.wait(200.0)
        connection.close()

    done = threading.Event()
    thread = threading.Thread(target=chief)
    thread.start()
    try:
        config = CLUSTER.format(json.dumps(addresses), 1)
        process = run_python("-c", BLOCKED, limit=300.0, TF_CONFIG=config)
    finally:
        done.set()
        thread.join()
    assert process.stdout == "calls\n", process.stderr
    assert len(set(said[0])) == 1
    # TensorFlow holds the GIL meanwhile.
    assert process.returncode == (-signal.SIGKILL if BACKEND == "tensorflow" else 3), process.stderr
    assert f"has not connected the processes {addresses[0]}, {addresses[1]} within 8 seconds" in process.stderr


@pytest.mark.skipif(BACKEND != "jax", reason="calls JAX")
def test_jax_gets_the_time_that_is_left(monkeypatch):
    import jax

    given = {}
    monkeypatch.setattr(jax.distributed, "initialize", lambda *args, **options: given.update(options))
    before = jax.distributed.initialize
    monkeypatch.setattr(keras.distribution, "initialize", lambda *args: jax.distributed.initialize(*args))
    monkeypatch.setattr(keras.distribution, "set_distribution", lambda distribution: None)
    strategies._multi_process_distribution(distribute.Cluster(("a:1", "b:1"), 1), 40.0, 32.4)
    expected = {"initialization_timeout": 32, "heartbeat_timeout_seconds": 20, "shutdown_timeout_seconds": 40}
    assert given == expected
    assert jax.distributed.initialize is before
