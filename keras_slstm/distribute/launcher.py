"""Starts the processes of a cluster on this machine, to try out distributed training or to use all cores or GPUs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

# The exit status of `argparse` and of the command line for wrong options.
BAD_INPUT = 2


class Workers:
    """Processes that run the same command as members of one cluster, which `TF_CONFIG` describes.

    As a context manager, it ends all processes on exit.

    Args:
        command: The command.
        count: Number of processes.
        environment: Environment variables in addition to those of this process.
        logs: A folder for the output, in `worker-0.log` and so on. Default: the first process prints to stdout and
            stderr of this one, and the lines of the others go to stderr, each after the process' number in brackets.

    Example:

    ```python
    with Workers([sys.executable, "train.py"], count=2) as workers:
        statuses = workers.wait(timeout=3600)
    ```
    """

    def __init__(
        self,
        command: Sequence[str],
        count: int,
        environment: Mapping[str, str] | None = None,
        logs: str | os.PathLike[str] | None = None,
    ):
        if count < 1:
            raise ValueError(f"`count` must be at least 1, but got {count!r}.")
        addresses = [f"localhost:{port}" for port in free_ports(count)]
        self.processes: list[subprocess.Popen[bytes]] = []
        self._copiers: list[threading.Thread] = []
        try:
            for index in range(count):
                self._start(command, index, addresses, environment or {}, logs)
        except BaseException:  # also a signal that arrives while the processes start
            self.stop(signal.SIGKILL)
            raise

    def _start(
        self,
        command: Sequence[str],
        index: int,
        addresses: Sequence[str],
        environment: Mapping[str, str],
        logs: str | os.PathLike[str] | None,
    ) -> None:
        task = {"type": "worker", "index": index}
        cluster = json.dumps({"cluster": {"worker": addresses}, "task": task})
        # A process that is killed would lose the lines that Python buffers.
        variables = {**os.environ, "PYTHONUNBUFFERED": "1", **environment, "TF_CONFIG": cluster}
        with contextlib.ExitStack() as files:
            output: Any = subprocess.PIPE if index else None
            if logs is not None:
                output = files.enter_context(open(Path(logs) / f"worker-{index}.log", "wb"))
            process = subprocess.Popen(command, env=variables, stdout=output, stderr=output and subprocess.STDOUT)
            self.processes.append(process)
        if process.stdout is not None:
            self._copiers.append(threading.Thread(target=_copy_lines, args=(process.stdout, index), daemon=True))
            self._copiers[-1].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop(signal.SIGKILL)

    def wait(self, timeout: float | None = None, grace: float = 60.0) -> list[int]:
        """Wait until all processes have ended. If one fails, the others have `grace` seconds to end.

        Returns:
            The exit status of each process. If a signal ended it, this is minus the number of the signal.

        Raises:
            TimeoutError: If the processes have not ended after `timeout` seconds. They are killed.
        """
        end = None if timeout is None else time.monotonic() + timeout
        failed = False
        while any(process.poll() is None for process in self.processes):
            if not failed and any(process.poll() for process in self.processes):
                failed = True
                grace_end = time.monotonic() + grace
            now = time.monotonic()
            if end is not None and now > end:
                self.stop(signal.SIGKILL)
                raise TimeoutError(f"The processes have not ended after {timeout} seconds.")
            if failed and now > grace_end:
                self.stop(signal.SIGTERM)
                break
            time.sleep(0.05)
        statuses = [process.wait() for process in self.processes]
        self._finish_output()
        return statuses

    def stop(self, number: signal.Signals = signal.SIGTERM, patience: float = 10.0) -> None:
        """Send a signal to all running processes, and kill those that do not end within `patience` seconds."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(number)
        end = time.monotonic() + patience
        for process in self.processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._finish_output()

    def _finish_output(self) -> None:
        for copier in self._copiers:
            copier.join(1.0)  # a process that a worker started may still hold the output open


def _copy_lines(lines: IO[bytes], index: int) -> None:
    """Print the lines of a process after its number."""
    for line in lines:
        # In one piece: the first process writes to the same file.
        sys.stderr.write(f"[{index}] {line.decode(errors='replace').rstrip()}\n")
        sys.stderr.flush()


def free_ports(count: int) -> list[int]:
    """Return ports of this machine that no process listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for found in sockets:
            found.bind(("localhost", 0))
        return [found.getsockname()[1] for found in sockets]


def launch(command: Sequence[str], count: int, restarts: int = 0, grace: float = 60.0, least: int | None = None) -> int:
    """Run a command in several processes of one cluster, and restart all of them if one fails.

    Exit status 2 means that the command itself is wrong, so it is not restarted.

    Args:
        command: The command.
        count: Number of processes.
        restarts: Largest number of restarts.
        grace: Seconds that the other processes have to end after one has failed.
        least: Each restart starts one process fewer, down to this number. None: always `count`.

    Returns:
        0, or the exit status of the failed process with the lowest number (128 plus the number of the signal, if a
        signal ended it); 130 after a keyboard interrupt.
    """
    for attempt in range(restarts + 1):
        with Workers(command, count) as workers:
            try:
                statuses = workers.wait(grace=grace)
            except KeyboardInterrupt:
                workers.stop(signal.SIGINT)
                return 130
        failed = [(index, status) for index, status in enumerate(statuses) if status]
        if not failed:
            return 0
        index, status = failed[0]
        print(f"Process {index} of {count} ended with {_describe(status)}.", file=sys.stderr, flush=True)
        if attempt == restarts or status == BAD_INPUT:
            break
        count = max(count if least is None else least, count - 1)
        print(f"Restarting with --workers {count}.", file=sys.stderr, flush=True)
    return status if status > 0 else 128 - status


def _describe(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"signal {signal.Signals(-status).name}"
