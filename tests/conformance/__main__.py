"""Fetches the tests of other libraries, runs them, and writes the page with their results."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from tests.__main__ import BACKENDS
from tests.conformance.suites import FOLDER, LAYERS, SUITES, ForeignFile, Suite

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
OUTCOMES = FOLDER / "outcomes.json"
_HEAD = """# Tests of other libraries

The test files of other CRFs run unchanged against `keras_slstm`, through adapters with the interface that they import
(`tests/conformance`). Keras' own tests of `LSTM` and `Bidirectional` run with a one-layer `CASLSTM` in place of `LSTM`.
The files are not part of this project: `python -m tests.conformance fetch` downloads them at fixed commits, `run` runs
them, and `table` writes this page.

| tests | TensorFlow | JAX | PyTorch | not applicable |
| --- | --- | --- | --- | --- |
"""
_FOOT = """
Not run: the tests of keras3-crf for its metrics and its model builder, which are not part of a CRF, and the tests that
compare with tensorflow-addons itself.
"""
Outcomes = dict[str, dict[str, dict[str, str]]]  # by suite, backend and test


def run(suites: list[Suite], backends: list[str]) -> Outcomes:
    """Run the tests, add the outcomes to those of earlier runs, and return all."""
    kept: Outcomes = json.loads(OUTCOMES.read_text(encoding="utf-8")) if OUTCOMES.exists() else {}
    for suite in suites:
        for backend in suite.backends:
            if backend not in backends:
                continue
            with tempfile.TemporaryDirectory() as folder:
                found = suite.run(backend, Path(folder) / "report.xml")
            kept.setdefault(suite.name, {})[backend] = found
            print(f"{suite.name} on {backend}: {dict(Counter(found.values()))}", flush=True)
            OUTCOMES.write_text(json.dumps(kept), encoding="utf-8")
    return kept


def table(outcomes: Outcomes) -> str:
    """Return the page with the outcomes of all tests."""
    rows, reasons = [], []
    for suite in SUITES:
        cells, left_out = [], {}
        for backend in BACKENDS:
            found = outcomes.get(suite.name, {}).get(backend)
            cells.append(_cell(suite, backend, found))
            left_out.update(_left_out(suite, backend, found or {}))
        rows.append(f"| {_link(suite)} | {' | '.join(cells)} | {len(left_out) or ''} |\n")
        for reason, number in Counter(left_out.values()).items():
            reasons.append(f"- {suite.name}, {number}: {reason}.\n")
    return _HEAD + "".join(rows) + "\n## Not applicable\n\n" + "".join(reasons) + _FOOT


def _left_out(suite: Suite, backend: str, found: dict[str, str]) -> dict[str, str]:
    """Return the tests that do not apply, with the reason."""
    reasons = {test: suite.reason(test, backend) for test, outcome in found.items() if outcome != "passed"}
    return {test: reason for test, reason in reasons.items() if reason is not None}


def _cell(suite: Suite, backend: str, found: dict[str, str] | None) -> str:
    if backend not in suite.backends:
        return "needs TensorFlow"
    if found is None:
        return "not run"
    passed = sum(outcome == "passed" for outcome in found.values())
    failed = len(found) - passed - len(_left_out(suite, backend, found))
    return f"{passed} passed" + (f", {failed} failed" if failed else "")


def _link(suite: Suite) -> str:
    file = suite.files[0]
    if not isinstance(file, ForeignFile):
        return f"{suite.name} (`{file}`, as installed)"
    path = file.path if len(suite.files) == 1 else str(Path(file.path).parent)
    kind = "blob" if len(suite.files) == 1 else "tree"
    return f"[{suite.name}](https://github.com/{file.repository}/{kind}/{file.commit}/{path})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    action = actions.add_parser("fetch", help="download the files")
    action.add_argument("--index", action="store_true", help="only the files on the package index")
    actions.add_parser("table", help="write the page from the recorded outcomes")
    action = actions.add_parser("run", help="run tests and record the outcomes")
    action.add_argument("suites", nargs="*", metavar="SUITE", help="part of a suite's name (default: all)")
    action.add_argument("--backend", choices=BACKENDS, action="append", help="default: all")
    given = parser.parse_args()
    if given.action == "fetch":
        files = [file for suite in SUITES for file in suite.files if isinstance(file, ForeignFile)]
        for file in [file for file in (*files, *LAYERS) if file.distribution or not given.index]:
            print(f"{file.name}: {file.fetch()}")
    elif given.action == "run":
        chosen = [suite for suite in SUITES if not given.suites or any(part in suite.name for part in given.suites)]
        run(chosen, given.backend or list(BACKENDS))
    else:
        PAGE.write_text(table(json.loads(OUTCOMES.read_text(encoding="utf-8"))), encoding="utf-8")
        print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
