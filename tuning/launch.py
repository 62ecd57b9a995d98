"""Search with several processes on this machine: one that decides, and some that train.

    python tuning/launch.py --workers 2 --dataset trec --tuner bayesian --max-trials 40

All other options are those of `tuning/search.py`. A worker that is killed is started again, and goes on with its trial;
a search that was interrupted goes on with `--resume`. With several GPUs, each worker gets one of them (`--gpus 0 1`).
For several machines see `tuning/README.md`.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = Path(__file__).with_name("search.py")
RESTARTS = 3  # of each worker


def main() -> int:
    """Start all, wait for the workers, and end the chief; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--workers", type=int, default=2, help="number of processes that train (default: 2)")
    parser.add_argument("--gpus", nargs="+", default=[], help="the GPUs that the workers take in turn")
    args, options = parser.parse_known_args()
    if args.workers < 1:
        parser.error(f"--workers must be at least 1, but got {args.workers}")
    port = free_port()
    told_to_end: list[int] = []  # by a signal, which may come while a process is started: it must not stay behind
    signal.signal(signal.SIGTERM, lambda number, _: told_to_end.append(number))
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        processes["chief"] = start("chief", port, options)
        for number in range(args.workers):
            processes[f"tuner{number}"] = start(f"tuner{number}", port, options, args.gpus)
        return watch(processes, port, options, args.gpus, told_to_end)
    except KeyboardInterrupt:
        print("\nInterrupted. The same command with --resume goes on.", file=sys.stderr)
        return 130
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(name: str, port: int, options: list[str], gpus: list[str] | None = None) -> subprocess.Popen[bytes]:
    """Start the chief, or a worker, of the search."""
    environment = {
        **os.environ,
        "KERASTUNER_TUNER_ID": name,
        "KERASTUNER_ORACLE_IP": "127.0.0.1",
        "KERASTUNER_ORACLE_PORT": str(port),
    }
    if name == "chief":
        environment["CUDA_VISIBLE_DEVICES"] = ""  # it trains nothing
    elif gpus:
        environment["CUDA_VISIBLE_DEVICES"] = gpus[int(name.removeprefix("tuner")) % len(gpus)]
    return subprocess.Popen([sys.executable, str(SCRIPT), *options], env=environment)


def watch(
    processes: dict[str, subprocess.Popen[bytes]],
    port: int,
    options: list[str],
    gpus: list[str],
    told_to_end: list[int],
) -> int:
    """Wait until all workers have finished, or a signal has come; start again what was killed. The exit status."""
    restarts = dict.fromkeys(processes, RESTARTS)
    while True:
        time.sleep(0.2)
        if told_to_end:
            return 128 + told_to_end[0]
        states = {name: process.poll() for name, process in processes.items()}
        workers = {name: state for name, state in states.items() if name != "chief"}
        if all(state == 0 for state in workers.values()):
            return 0  # the chief has written all that there is: it would only wait for them to go
        if states["chief"] is not None:
            return states["chief"] or 1  # it ends before its workers only where something is wrong
        for name, state in workers.items():
            if state is None or state == 0:
                continue
            if state > 0 or not restarts[name]:  # an error, which has been printed; or killed too often
                return abs(state)
            restarts[name] -= 1
            print(f"{name} was ended by signal {-state}: it starts again.", file=sys.stderr)
            processes[name] = start(name, port, options, gpus)


if __name__ == "__main__":
    sys.exit(main())
