"""A search in several processes on this machine: a chief that chooses the trials, and workers that train."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

from keras_slstm.lifetime import end_after

MEMBER = "KERASTUNER_TUNER_ID"  # set in the processes of a search on several machines
LAUNCHED = "KERAS_SLSTM_SEARCH_LAUNCHED"  # set in the processes that `run_workers` starts
RESTARTS = 3  # of each worker
AGAIN = "start the search again, without --overwrite, to resume it."


def run_workers(words: Sequence[str], count: int, gpus: Sequence[str] = ()) -> int:
    """Start the chief and the workers, and wait until the workers have ended.

    A worker that is ended by a signal is restarted, and continues its trial.

    Args:
        words: The command and its options, shared by all processes.
        count: Number of workers.
        gpus: GPUs to assign to the workers in turn.

    Returns:
        The exit status: 0, or that of the first process that failed.
    """
    cluster = _Cluster(words, gpus)
    ending: list[int] = []  # a signal may arrive while a process starts, and must also end that process
    before = signal.signal(signal.SIGTERM, lambda number, _: ending.append(number))
    try:
        for name in ("chief", *(f"tuner{number}" for number in range(count))):
            cluster.start(name)
        return cluster.watch(ending)
    finally:
        cluster.stop()
        signal.signal(signal.SIGTERM, before)


def end_with_launcher() -> None:
    """In a process that `run_workers` has started: end when the launcher ends, even if that is killed."""
    if LAUNCHED in os.environ and sys.platform != "win32":  # there, a pending read would block the child processes
        end_after(lambda: os.read(sys.stdin.fileno(), 1))  # nobody writes there: it returns when the pipe is closed


class _Cluster:
    def __init__(self, words: Sequence[str], gpus: Sequence[str]):
        self.words = list(words)
        self.gpus = list(gpus)
        self.port = free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.pipe = os.pipe()  # the standard input of all processes; the launcher alone holds the end to write to

    def start(self, name: str) -> None:
        environment = {
            **os.environ,
            MEMBER: name,
            LAUNCHED: "1",
            "KERASTUNER_ORACLE_IP": "127.0.0.1",
            "KERASTUNER_ORACLE_PORT": str(self.port),
        }
        if name == "chief":
            environment["CUDA_VISIBLE_DEVICES"] = ""  # it trains nothing
        elif self.gpus:
            environment["CUDA_VISIBLE_DEVICES"] = self.gpus[int(name.removeprefix("tuner")) % len(self.gpus)]
        output = subprocess.DEVNULL if name == "chief" else None  # its summary is printed later
        command = [sys.executable, "-m", "keras_slstm", *self.words]
        self.processes[name] = subprocess.Popen(command, env=environment, stdin=self.pipe[0], stdout=output)

    def watch(self, ending: Sequence[int]) -> int:
        restarts = dict.fromkeys(self.processes, RESTARTS)
        while True:
            time.sleep(0.2)
            if ending:
                return 128 + ending[0]
            states = {name: process.poll() for name, process in self.processes.items()}
            chief = states.pop("chief")
            if all(state == 0 for state in states.values()):
                return 0  # the chief has written everything: it only waits for the workers to exit
            if chief is not None:
                if chief < 0:
                    print(f"chief was ended by signal {-chief}: {AGAIN}", file=sys.stderr)
                return abs(chief) or 1  # without an error, the chief ends after its workers
            for name, state in states.items():
                if state is None or state == 0:
                    continue
                if state > 0:  # an error, already printed
                    return state
                if not restarts[name]:
                    print(f"{name} was ended by signal {-state} again: {AGAIN}", file=sys.stderr)
                    return -state
                restarts[name] -= 1
                print(f"{name} was ended by signal {-state} and is restarted.", file=sys.stderr)
                self.start(name)

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for end in self.pipe:
            os.close(end)


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
