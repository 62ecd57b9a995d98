"""Run a script in several processes on this machine: `python -m keras_slstm.distribute --workers 2 train.py ...`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from keras_slstm.distribute.launcher import launch


def main() -> int:
    """Start the processes and wait for them; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m keras_slstm.distribute", description=__doc__)
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="number of processes (default: 2)")
    parser.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="start all again, so many times, when one has failed"
    )
    parser.add_argument("--grace", type=float, default=90.0, metavar="SECONDS", help="that the others have to end then")
    parser.add_argument("script", help="what is run in each, with the arguments that follow")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    for name, least in (("workers", 1), ("restarts", 0), ("grace", 0)):
        if not vars(args)[name] >= least:
            parser.error(f"--{name} must be at least {least}, but got {vars(args)[name]}")
    if not Path(args.script).is_file():
        parser.error(f"there is no script {args.script!r}")
    # By default the signal would end this process at once, and leave the others behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    return launch([sys.executable, args.script, *args.arguments], args.workers, args.restarts, args.grace)


if __name__ == "__main__":
    sys.exit(main())
