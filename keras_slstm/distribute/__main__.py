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
        "--grace", type=float, default=90.0, metavar="SECONDS", help="time to end after a failure (default: 90)"
    )
    parser.add_argument("script", help="the script that each process runs with the arguments after it")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    for name, least in (("workers", 1), ("restarts", 0), ("grace", 0)):
        if not vars(args)[name] >= least:
            parser.error(f"--{name} must be at least {least}, but got {vars(args)[name]}")
    if not Path(args.script).is_file():
        parser.error(f"the script {args.script!r} does not exist")
    # The default action would end this process at once and leave the others running.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    return launch([sys.executable, args.script, *args.arguments], args.workers, args.restarts, args.grace)


if __name__ == "__main__":
    sys.exit(main())
