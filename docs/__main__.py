"""Build the site offline, and fail on any warning: `python -m docs [--no-notebooks] [FOLDER]`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

SOURCE = Path(__file__).parent


def main() -> int:
    """Build the site, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs", description=__doc__)
    parser.add_argument("folder", nargs="?", default=str(SOURCE / "_build"), help="output folder (docs/_build)")
    parser.add_argument(
        "--notebooks",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run the notebooks that have changed since the last build (minutes), or only show their code",
    )
    args = parser.parse_args()
    if args.notebooks:
        os.environ["KERAS_SLSTM_NOTEBOOKS"] = "1"  # for conf.py
        # The notebook kernels import the package from this checkout.
        os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCE.parent), os.environ.get("PYTHONPATH", "")])
    from sphinx.cmd.build import main as build

    status = build(["-W", "--keep-going", "-q", "-b", "html", str(SOURCE), args.folder])
    print(f"{args.folder}/index.html" if not status else "The site was not built.")
    return status


if __name__ == "__main__":
    sys.exit(main())
