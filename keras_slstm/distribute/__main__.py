"""Run a script in several processes on this machine: `python -m keras_slstm.distribute --workers 2 train.py ...`."""

from __future__ import annotations

import argparse
import sys

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
    if args.workers < 1:
        parser.error(f"--workers must be at least 1, but got {args.workers}")
    return launch([sys.executable, args.script, *args.arguments], args.workers, args.restarts, args.grace)


if __name__ == "__main__":
    sys.exit(main())
