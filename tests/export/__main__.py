"""Records the outcomes of the export matrix, and writes the table of the guide.

KERAS_BACKEND=jax python -m tests.export record  # all rows on this backend, or the named ones
python -m tests.export table
"""

from __future__ import annotations

import sys

from tests.export import cases, outcomes


def main() -> None:
    action, *rows = sys.argv[1:] or ["table"]
    if action == "record":
        outcomes.record(rows or [*cases.LAYERS])
        return
    page = outcomes.PAGE.read_text(encoding="utf-8")
    outcomes.PAGE.write_text(outcomes.fill(page, outcomes.read()), encoding="utf-8")


if __name__ == "__main__":
    main()
