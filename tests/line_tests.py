"""Records, with coverage.py, which tests execute which lines of the package."""

from __future__ import annotations

import ast
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Recorder:
    """A pytest plugin that records the seconds and the executed lines of each passing test."""

    def __init__(self, package: Path):
        import coverage

        self._coverage = coverage.Coverage(data_file=None, source=[str(package)])
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    def pytest_sessionstart(self) -> None:
        self._coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._coverage.switch_context(nodeid)
        self._seconds[nodeid] = -time.process_time()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._seconds[nodeid] += time.process_time()
        self._coverage.switch_context("")

    def found(self, root: Path) -> dict[str, Any]:
        """Return `{"seconds": {test: seconds}, "lines": {module: {line: [tests]}}}` with paths relative to `root`."""
        self._coverage.stop()
        data = self._coverage.get_data()
        seconds = {name: spent for name, spent in self._seconds.items() if name not in self._failed}
        lines = {}
        for file in sorted(data.measured_files()):
            contexts = data.contexts_by_lineno(file)
            tests = {line: [name for name in names if name in seconds] for line, names in contexts.items()}
            lines[str(Path(file).relative_to(root))] = {str(line): names for line, names in tests.items() if names}
        return {"seconds": seconds, "lines": lines}


def record(root: Path, files: list[str], target: Path) -> int:
    """Run test files below the working directory `root`, write the record, and return pytest's exit status."""
    import pytest

    recorder = Recorder(root / "keras_slstm")
    status = pytest.main(["-q", "-p", "no:cacheprovider", *files], plugins=[recorder])
    target.write_text(json.dumps(recorder.found(root)), encoding="utf-8")
    return int(status)


def fingerprint(root: Path, folder: str) -> str:
    """Return a hash of all Python files of a folder."""
    found = hashlib.sha256()
    for file in sorted(root.joinpath(folder).rglob("*.py")):
        found.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


def tests_for(record: dict[str, Any], module: str, source: str, line: int) -> list[str]:
    """Return the tests that execute a line, fastest first.

    A line that runs at import (a default, a constant) has no tests of its own, so it gets those of the enclosing
    function, class or module.
    """
    by_line = record["lines"].get(module, {})
    for lines in _around(ast.parse(source), line):
        tests = {test for number in lines for test in by_line.get(str(number), ())}
        if tests:
            return sorted(tests, key=lambda test: (record["seconds"][test], test))
    return []


def _around(tree: ast.Module, line: int) -> Iterator[range]:
    """Yield the lines of the enclosing statements, innermost first, without the bodies of compound statements."""
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and _first(node) <= line <= (node.end_lineno or node.lineno)
    ]
    for node in sorted(inside, key=lambda node: (node.end_lineno or node.lineno) - _first(node)):
        last = node.end_lineno or node.lineno
        body = getattr(node, "body", None)
        if body and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            last = max(node.lineno, body[0].lineno - 1)
        yield range(_first(node), last + 1)
    yield range(1, 1 + max((node.end_lineno or 0 for node in tree.body), default=0))


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
