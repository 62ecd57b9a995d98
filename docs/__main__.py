"""Build the site without a network, and fail at any warning: `python -m docs [folder]`."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.cmd.build import main

if __name__ == "__main__":
    source = Path(__file__).parent
    target = sys.argv[1] if len(sys.argv) > 1 else str(source / "_build")
    status = main(["-W", "--keep-going", "-q", "-b", "html", str(source), target])
    print(f"{target}/index.html" if not status else "The site was not built.")
    sys.exit(status)
