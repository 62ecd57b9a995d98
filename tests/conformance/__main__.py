"""Fetch the tests of other CRFs, and write the page that lists which of them pass."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from tests.conformance.suites import LAYERS, SUITES, Suite

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
_HEAD = """# Tests of other CRFs

The test files of other CRFs run unchanged against `keras_slstm`, through adapters with the interface that they import
(`tests/conformance`). They are not part of this project: `python -m tests.conformance fetch` gets them at fixed
commits, and `python -m tests.conformance table` runs them and writes this page.

| library | commit | backend | passed | not applicable | failed |
| --- | --- | --- | --- | --- | --- |
"""


def table(suites: list[Suite]) -> str:
    """The page, from a run of all tests."""
    rows, reasons = [], []
    for suite in suites:
        with tempfile.TemporaryDirectory() as folder:
            outcomes = suite.run(Path(folder) / "report.xml")
        counts: Counter[str] = Counter()
        left_out: Counter[str] = Counter()
        for test, outcome in outcomes.items():
            reason = suite.reason(test)
            counts["passed" if outcome == "passed" else "left out" if reason else "failed"] += 1
            if reason and outcome != "passed":
                left_out[reason] += 1
        link = f"[{suite.commit[:10]}](https://github.com/{suite.repository}/blob/{suite.commit}/{suite.path})"
        numbers = " | ".join(str(counts[kind]) for kind in ("passed", "left out", "failed"))
        rows.append(f"| {suite.name} | {link} | {suite.backend} | {numbers} |\n")
        reasons += [f"- {suite.name}, {number}: {reason}.\n" for reason, number in left_out.items()]
    return _HEAD + "".join(rows) + "\n## Not applicable\n\n" + "".join(reasons)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("action", choices=("fetch", "table"))
    action = parser.parse_args().action
    for file in (*SUITES, *LAYERS):
        print(f"{file.name}: {file.fetch()}")
    if action == "table":
        PAGE.write_text(table(SUITES), encoding="utf-8")
        print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
