"""Run a script in several processes on this machine: `python -m keras_slstm.distribute --workers 2 train.py ...`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from keras_slstm.distribute.launcher import launch


def main() -> int:
    """Start the processes, wait for them, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m keras_slstm.distribute", description=__doc__)
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="number of processes (default: 2)")
    parser.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="restart all processes up to N times (default: 0)"
    )
    parser.add_argument(
        "--min-workers",
        type=int,
        metavar="N",
        help="each restart uses one process fewer, but at least N (default: all)",
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=90.0,
        metavar="SECONDS",
        help="time for the others to end after a process has failed (default: 90)",
    )
    parser.add_argument("script", help="the script that each process runs with the arguments after it")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    for name, least in (("workers", 1), ("restarts", 0), ("grace", 0), ("min_workers", 1)):
        if vars(args)[name] is not None and not vars(args)[name] >= least:
            parser.error(f"--{name.replace('_', '-')} must be at least {least}, but got {vars(args)[name]}")
    if args.min_workers is not None and args.min_workers > args.workers:
        parser.error(f"--min-workers must be at most {args.workers} (--workers), but got {args.min_workers}")
    if not Path(args.script).is_file():
        parser.error(f"the script {args.script!r} does not exist")
    # The default action would end this process at once and leave the others running.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    command = [sys.executable, args.script, *args.arguments]
    return launch(command, args.workers, args.restarts, args.grace, args.min_workers)


if __name__ == "__main__":
    sys.exit(main())
