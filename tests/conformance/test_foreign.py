"""The tests of other libraries pass here, except those that do not apply. Skipped unless their files are fetched."""

from __future__ import annotations

import re

import pytest

from tests.backend import BACKEND
from tests.conformance.suites import SUITES


@pytest.mark.ci_run("torch")
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
@pytest.mark.short_run
def test_foreign_tests_pass(suite, tmp_path):
    if suite.missing():
        pytest.skip(f"{suite.missing()[0]} is not there: run `python -m tests.conformance fetch`")
    if BACKEND not in suite.backends:
        pytest.skip(f"runs on {', '.join(suite.backends)}")
    outcomes = suite.run(BACKEND, tmp_path / "report.xml")
    failed = [test for test, outcome in outcomes.items() if outcome != "passed"]
    assert [test for test in failed if suite.reason(test, BACKEND) is None] == []
    assert any(outcome == "passed" for outcome in outcomes.values())
    unused = [pattern for pattern in suite.patterns(BACKEND) if not any(re.search(pattern, test) for test in failed)]
    assert unused == []
