"""Messages between the processes of a cluster, over separate sockets.

Every process connects to the chief before TensorFlow or JAX starts. When those connect by themselves, they block in C++
for minutes and do not say which process is missing. The connections stay open, so that processes can compare settings
before any collective operation on weights.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO, Any

from keras_slstm.distribute.cluster import Cluster
from keras_slstm.distribute.errors import ProcessesDiffer, WorkerLost, worker_lost

# Exit status of a process whose cluster is not complete in time.
LOST = 3
_GREETING = "keras_slstm.distribute 1"
_RETRY_SECONDS = 0.2
_GRACE_SECONDS = 5.0
_GIL_SECONDS = 2.0
# Kills its parent after some time, unless the parent connects or ends first, which closes standard input. `kill` checks
# the parent's ID, because a fork may hold that input open after the parent has ended and its ID is reused.
_WATCHER = """
import os, signal, sys, threading

def kill():
    if os.getppid() == int(sys.argv[2]):
        print(sys.argv[3], file=sys.stderr, flush=True)
        os.kill(int(sys.argv[2]), getattr(signal, "SIGKILL", signal.SIGTERM))
    os._exit(0)

signal.signal(signal.SIGINT, signal.SIG_IGN)
timer = threading.Timer(float(sys.argv[1]), kill)
timer.daemon = True
timer.start()
sys.stdin.read()
os._exit(0)
"""


class Channel:
    """A connection between the chief and every other process.

    Args:
        cluster: The processes.
        timeout: Seconds that a message may take once all processes have connected.
        age: Seconds of the timeout that have passed. The rest is left for connecting.
        ports: Indices of the processes on whose ports the backend will listen. These ports must be free.

    Attributes:
        cluster: The processes, with all addresses.

    Raises:
        WorkerLost: If a process is missing, or a port is taken. The message names the address.
        ProcessesDiffer: If the processes were given different addresses.
    """

    def __init__(self, cluster: Cluster, timeout: float, ports: tuple[int, ...] = (0,), age: float = 0.0):
        self.cluster = cluster
        self.timeout = timeout
        self._deadline = time.monotonic() + timeout - age
        self._peers: dict[int, _Peer] = {}
        self._addresses = list(cluster.addresses)
        if cluster.is_chief:
            self._accept_all()
        else:
            self._connect(cluster.index in ports)
        self.cluster = dataclasses.replace(cluster, addresses=tuple(self._addresses))
        for peer in self._peers.values():
            peer.socket.settimeout(timeout)

    def all_gather(self, topic: str, value: Any) -> list[Any]:
        """Return the JSON values of all processes, in their order. All processes must call this with the same topic.

        Args:
            topic: Name of the exchanged values.
            value: The value of this process.

        Raises:
            WorkerLost: If a process has died or does not answer in time.
            ProcessesDiffer: If the processes exchange different things.
        """
        own = {"topic": topic, "value": value}
        end = time.monotonic() + self.timeout
        try:
            if self.cluster.is_chief:
                messages = [own, *(self._peers[index].receive(until=end) for index in range(1, self.cluster.size))]
                for peer in self._peers.values():
                    peer.send(messages)
            else:
                self._peers[0].send(own)
                messages = self._peers[0].receive(until=end)
        except OSError as error:
            raise worker_lost("The connection", error) from error
        topics = [message["topic"] for message in messages]
        if len(set(topics)) > 1:
            steps = ", ".join(f"process {index} at {found!r}" for index, found in enumerate(topics))
            raise ProcessesDiffer(f"All processes must run the same program, but they are at different steps: {steps}.")
        return [message["value"] for message in messages]

    def seconds_left(self) -> float:
        """Return the seconds that are left for connecting."""
        return max(0.001, self._deadline - time.monotonic())

    def close(self) -> None:
        """Close all connections."""
        for peer in self._peers.values():
            peer.close()

    # The chief's side.

    def _accept_all(self) -> None:
        with self._listen() as server:
            try:
                while True:
                    missing = self._missing()
                    self._tell_all({"missing": missing, "addresses": self._addresses})
                    if not missing:
                        return
                    server.settimeout(self.seconds_left())
                    try:
                        self._accept(server)
                    except TimeoutError:
                        raise WorkerLost(self._describe_missing(missing)) from None
            except (WorkerLost, ProcessesDiffer) as error:
                self._tell_all({"error": str(error), "differ": isinstance(error, ProcessesDiffer)})
                self.close()
                raise

    def _accept(self, server: socket.socket) -> None:
        """Accept a connection, or close it if it does not come from this package."""
        peer = _Peer(server.accept()[0])
        peer.socket.settimeout(min(_GRACE_SECONDS, self.seconds_left()))
        try:
            hello = peer.receive()
            known = isinstance(hello, dict) and hello.get("greeting") == _GREETING
        except OSError:
            known = False
        if not known:
            peer.close()
            return
        index, addresses = hello["index"], hello["addresses"]
        if index in self._peers:  # the process was restarted
            self._peers[index].close()
        self._peers[index] = peer
        if addresses != list(self.cluster.addresses):
            raise ProcessesDiffer(
                f"All processes must be given the same addresses, but process 0 has {list(self.cluster.addresses)} "
                f"and process {index} has {addresses}."
            )
        if not self.cluster.addresses[index]:
            self._addresses[index] = f"{peer.host_beside(self.cluster.addresses[0])}:{hello['port']}"
        if hello["error"]:
            raise WorkerLost(hello["error"])

    def _missing(self) -> list[int]:
        for index, peer in list(self._peers.items()):
            if peer.has_closed():
                self._peers.pop(index).close()
        return [index for index in range(1, self.cluster.size) if index not in self._peers]

    def _tell_all(self, message: dict[str, Any]) -> None:
        for peer in self._peers.values():
            with contextlib.suppress(OSError):  # `has_closed` detects a broken connection later
                peer.send(message)

    # The other processes' side.

    def _connect(self, needs_port: bool) -> None:
        problem, own_port = "", 0
        if needs_port:
            try:
                with self._listen() as server:
                    own_port = server.getsockname()[1]
            except WorkerLost as error:
                problem = str(error)
        host, port = split_address(self.cluster.addresses[0])
        hello = {
            "greeting": _GREETING,
            "index": self.cluster.index,
            "addresses": self.cluster.addresses,
            "port": own_port,
        }
        missing, reason = [0], "the timeout expired before the first attempt"
        while time.monotonic() < self._deadline:
            try:
                peer = _Peer(socket.create_connection((host, port), self.seconds_left()))
            except OSError as error:
                missing, reason = [0], f"{error}"
                time.sleep(min(_RETRY_SECONDS, self.seconds_left()))
                continue
            try:
                peer.send({**hello, "error": problem})
                while missing:
                    # The chief's time ends at about the same moment, and it knows which processes are missing.
                    grace = 0.0 if missing == [0] else _GRACE_SECONDS
                    peer.socket.settimeout(self.seconds_left() + grace)
                    answer = peer.receive()
                    if not isinstance(answer, dict) or not {"missing", "error"} & set(answer):
                        raise OSError("it does not answer as a process of this cluster")
                    if "error" in answer:
                        peer.close()
                        raise (ProcessesDiffer if answer["differ"] else WorkerLost)(answer["error"])
                    missing, self._addresses = answer["missing"], answer["addresses"]
            except OSError as error:
                peer.close()
                silent = isinstance(error, TimeoutError)
                reason = "it accepts connections, but does not answer" if silent else f"{error}"
                time.sleep(min(_RETRY_SECONDS, self.seconds_left()))
                continue
            self._peers[0] = peer
            return
        raise WorkerLost(problem or self._describe_missing(missing, reason))

    def _listen(self) -> socket.socket:
        """Listen on the port of this process, or on any free port if it was given no address."""
        address = self.cluster.addresses[self.cluster.index]
        port = split_address(address)[1] if address else 0
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        try:
            return socket.create_server(("", port), family=family, backlog=self.cluster.size, dualstack_ipv6=both)
        except OSError as error:
            raise WorkerLost(
                f"Process {self.cluster.index} of {self.cluster.size} cannot listen on its address {address}: {error}. "
                "Choose another port, or end the program that uses it."
            ) from None

    def _describe_missing(self, indices: list[int], reason: str = "") -> str:
        addresses = self.cluster.addresses
        names = ", ".join(f"{addresses[i]} (process {i})" if addresses[i] else f"process {i}" for i in indices)
        detail = f" ({reason})" if reason and indices == [0] else ""
        return (
            f"Process {self.cluster.index} of {self.cluster.size} has no connection to {names} {self.timeout:g} "
            f"seconds after its start{detail}: start all processes, each with an address that the others can reach."
        )


class _Peer:
    """A connection to another process. Each message is a line of JSON."""

    def __init__(self, connection: socket.socket):
        self.socket = connection
        # Detects a host that vanishes without closing its connections, and keeps firewalls from dropping idle ones.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._file: IO[bytes] = connection.makefile("rb")

    def send(self, message: Any) -> None:
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, until: float | None = None) -> Any:
        if until is not None:
            self.socket.settimeout(max(0.001, until - time.monotonic()))
        line = self._file.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the connection was closed")
        try:
            return json.loads(line)
        except ValueError:
            raise ConnectionError("the answer is not JSON") from None

    def has_closed(self) -> bool:
        readable, _, _ = select.select([self.socket], [], [], 0)
        try:
            return bool(readable) and not self.socket.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def host_beside(self, address: str) -> str:
        """Return the other process' host or, if it runs on this machine, that of `address`, which others can reach."""
        peer, own = self.socket.getpeername()[0], self.socket.getsockname()[0]
        host = split_address(address)[0] if peer == own else peer.removeprefix("::ffff:")
        return f"[{host}]" if ":" in host else host

    def close(self) -> None:
        self._file.close()
        self.socket.close()


def split_address(address: str) -> tuple[str, int]:
    """Split `host:port`.

    >>> split_address("[::1]:2222")
    ('::1', 2222)
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ValueError(f"Addresses must be host:port, with a port from 1 to 65535, but got {address!r}.")
    return host.strip("[]"), int(port)


@contextlib.contextmanager
def end_process_after(seconds: float, message: str) -> Iterator[None]:
    """End this process if the block takes longer than `seconds`, because code that blocks in C++ cannot be interrupted.

    A thread ends the process with the exit status `LOST`. While TensorFlow connects, it keeps Python's threads from
    running; then a second process kills this one a little later.
    """

    def end() -> None:
        print(message, file=sys.stderr, flush=True)
        os._exit(LOST)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    command = [sys.executable, "-I", "-S", "-c", _WATCHER, str(seconds + _GIL_SECONDS), str(os.getpid()), message]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as watcher:
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            watcher.kill()  # closing its input is not enough if a fork of this process holds it open
