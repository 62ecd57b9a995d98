"""Processes connect, or report which one is missing. Threads stand in for processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from unittest import mock

import pytest

from keras_slstm.distribute import channel as module
from keras_slstm.distribute.channel import Channel, end_process_after, split_address
from keras_slstm.distribute.cluster import Cluster
from keras_slstm.distribute.errors import ProcessesDiffer, WorkerLost
from keras_slstm.distribute.launcher import free_ports
from tests.processes import run_python

pytestmark = pytest.mark.short_run("torch")


def _cluster(size):
    addresses = tuple(f"localhost:{port}" for port in free_ports(size))
    return [Cluster(addresses, index) for index in range(size)]


def _connect(clusters, timeout=20.0, ports=(0,), use=None):
    """Connect all processes; return for each its channel, its error or the result of `use`, and close the channels."""
    found = [None] * len(clusters)

    def run(place, cluster):
        try:
            with contextlib.closing(Channel(cluster, timeout, ports)) as channel:
                found[place] = channel if use is None else use(channel)
        except Exception as error:
            found[place] = error

    threads = [threading.Thread(target=run, args=item) for item in enumerate(clusters)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_each_process_gets_the_values_of_all():
    def use(channel):
        if channel.cluster.index == 2:
            time.sleep(0.1)  # the others wait
        return [channel.all_gather("a", [channel.cluster.index, "x"]), channel.all_gather("b", 2**70)]

    expected = [[[0, "x"], [1, "x"], [2, "x"]], [2**70] * 3]
    assert _connect(_cluster(3), ports=(0, 1, 2), use=use) == [expected] * 3


def test_addresses_that_are_open_are_exchanged():
    first = _cluster(1)[0].addresses[0]
    clusters = [Cluster((first, "", ""), index) for index in range(3)]
    found = _connect(clusters, ports=(0, 1, 2), use=lambda channel: channel.cluster)
    assert [cluster.index for cluster in found] == [0, 1, 2]
    (addresses,) = {cluster.addresses for cluster in found}
    hosts, ports = zip(*map(split_address, addresses))
    assert addresses[0] == first
    assert hosts == ("localhost",) * 3
    assert len(set(ports)) == 3
    (error,) = _connect(clusters[:1], timeout=0.2)
    assert "no connection to process 1, process 2 0.2 seconds" in str(error)


@pytest.mark.parametrize(
    ("peer", "own", "host"),
    [
        ("127.0.1.1", "127.0.1.1", "node7"),  # other machines would connect to themselves
        ("10.0.0.8", "10.0.0.7", "10.0.0.8"),
        ("::ffff:10.0.0.8", "::ffff:10.0.0.7", "10.0.0.8"),
        ("fd00::8", "fd00::7", "[fd00::8]"),
    ],
)
def test_the_host_of_another_process(peer, own, host):
    connection = mock.Mock(getpeername=lambda: (peer, 5), getsockname=lambda: (own, 6))
    assert module._Peer(connection).host_beside("node7:2222") == host


def test_every_process_names_a_missing_one():
    clusters = _cluster(3)
    began = time.monotonic()
    found = _connect(clusters[:2], timeout=1.0)
    assert time.monotonic() - began < 5
    for error in found:
        assert isinstance(error, WorkerLost)
        missing = clusters[0].addresses[2]
        assert f"no connection to {missing} (process 2) 1 seconds after its start: start all" in str(error)


def test_a_missing_chief_is_named():
    clusters = _cluster(2)
    (error,) = _connect(clusters[1:], timeout=1.0)
    assert isinstance(error, WorkerLost)
    assert f"{clusters[0].addresses[0]} (process 0) 1 seconds after its start ([Errno 111] Connection refused)" in str(
        error
    )


def test_a_host_that_does_not_exist_is_named():
    (error,) = _connect([Cluster(("nowhere.invalid:1", "b:1"), 1)], timeout=1.0)
    assert "nowhere.invalid:1 (process 0) 1 seconds after its start (" in str(error)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"[1]\n"])
def test_another_program_on_the_port_of_the_chief(answer):
    clusters = _cluster(2)
    with socket.create_server(("localhost", int(clusters[0].addresses[0].split(":")[1]))) as server:

        def serve():
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                connection.sendall(answer)
                time.sleep(2)

        threading.Thread(target=serve, daemon=True).start()
        found = _connect(clusters, timeout=0.8)
    assert f"Process 0 of 2 cannot listen on its address {clusters[0].addresses[0]}" in str(found[0])
    assert "in use" in str(found[0])
    assert f"{clusters[0].addresses[0]} (process 0)" in str(found[1])
    assert all(isinstance(error, WorkerLost) for error in found)


def test_another_program_on_the_port_of_a_worker_ends_all_at_once():
    clusters = _cluster(2)
    with socket.create_server(("localhost", int(clusters[1].addresses[1].split(":")[1]))):
        began = time.monotonic()
        found = _connect(clusters, timeout=30.0, ports=(0, 1))
        assert time.monotonic() - began < 10
        for error in found:
            assert f"Process 1 of 2 cannot listen on its address {clusters[1].addresses[1]}" in str(error)
        assert _connect(clusters, ports=(0,), use=lambda channel: channel.all_gather("a", 1)) == [[1, 1]] * 2


def test_different_addresses_are_shown():
    first = _cluster(2)[0]
    found = _connect([first, Cluster((first.addresses[0], "elsewhere:1"), 1)])
    for error in found:
        assert isinstance(error, ProcessesDiffer)
        assert f"process 0 has {list(first.addresses)} and process 1 has" in str(error)
        assert "elsewhere:1" in str(error)


def test_a_process_that_was_started_again_takes_its_place():
    clusters = _cluster(3)
    host, port = split_address(clusters[0].addresses[0])
    found = []
    chief = threading.Thread(target=lambda: found.extend(_connect(clusters[:1], use=lambda c: c.all_gather("a", 0))))
    chief.start()
    while True:
        with contextlib.suppress(OSError):
            dead = socket.create_connection((host, port))
            break
    hello = {"greeting": module._GREETING, "index": 1, "addresses": clusters[0].addresses, "error": ""}
    dead.sendall(module.json.dumps(hello).encode() + b"\n")
    assert b'"missing": [2]' in dead.recv(100)
    dead.close()
    others = _connect(clusters[1:], use=lambda channel: channel.all_gather("a", channel.cluster.index))
    chief.join()
    assert found == [[0, 1, 2]]
    assert others == [[0, 1, 2]] * 2


def test_a_process_that_dies_is_noticed_at_once():
    def use(channel):
        return None if channel.cluster.index == 1 else channel.all_gather("a", 1)

    found = _connect(_cluster(3), use=use)
    assert found[1] is None
    for error in (found[0], found[2]):
        assert isinstance(error, WorkerLost)
        assert "Start all processes again" in str(error)


def test_a_hanging_process_is_given_up():
    def use(channel):
        return time.sleep(1.0) if channel.cluster.index == 1 else channel.all_gather("a", 1)

    found = _connect(_cluster(2), timeout=0.4, use=use)
    assert isinstance(found[0], WorkerLost)


def test_one_limit_holds_for_all_that_are_late():
    def use(channel):
        time.sleep(1.4 * channel.cluster.index)
        began = time.monotonic()
        with pytest.raises(WorkerLost):
            channel.all_gather("a", 1)
        return time.monotonic() - began

    # With a limit of its own for each, the second would be waited for until 3.4 seconds.
    assert 1.9 < _connect(_cluster(3), timeout=2.0, use=use)[0] < 3.1


def test_processes_at_different_steps_are_shown():
    found = _connect(_cluster(2), use=lambda channel: channel.all_gather("ab"[channel.cluster.index], 1))
    for error in found:
        assert isinstance(error, ProcessesDiffer)
        assert "process 0 at 'a', process 1 at 'b'" in str(error)


@pytest.mark.parametrize("address", ["a", "a:", ":1", "a:0", "a:x", "a:65536"])
def test_a_wrong_address_is_shown(address):
    with pytest.raises(ValueError, match=rf"host:port.*'{address}'"):
        Channel(Cluster((address, "b:1"), 0), 1.0)


KEEPS_THE_GIL = """
import ctypes
from keras_slstm.distribute import channel
channel._GIL_SECONDS = 0.3
with channel.end_process_after(0.5, "It blocks."):
    ctypes.PyDLL(None).sleep(60)
"""


@pytest.mark.short_run
def test_a_blocked_interpreter_is_killed_in_time():
    began = time.monotonic()
    process = run_python("-c", KEEPS_THE_GIL, limit=55.0)
    assert process.returncode == -signal.SIGKILL
    assert process.stderr.endswith("It blocks.\n")
    assert time.monotonic() - began < 50


FORKS = """
import os, signal, time
from keras_slstm.distribute.channel import end_process_after
with end_process_after(20.0, "It blocks."):
    child = os.fork()
    if not child:
        time.sleep(120)
        os._exit(0)
    began = time.monotonic()
assert time.monotonic() - began < 5, "it waits for the other process"
os.kill(child, signal.SIGKILL)
"""


@pytest.mark.short_run
def test_a_process_that_forks_is_not_killed():
    """The fork keeps the standard input of the watching process open."""
    process = run_python("-c", FORKS, limit=55.0)
    assert (process.returncode, process.stderr) == (0, "")


def test_a_call_that_takes_too_long_ends_the_process(monkeypatch, capfd):
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    with end_process_after(0.05, "It takes too long."):
        time.sleep(0.5)
    with end_process_after(1.0, "not this one"):
        pass
    time.sleep(1.5)
    assert ended == [3]
    assert capfd.readouterr().err == "It takes too long.\n"
