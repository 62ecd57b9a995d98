"""The tests of other CRFs pass here, except those that do not apply. Skipped unless their files are fetched."""

from __future__ import annotations

import pytest

from tests.backend import BACKEND
from tests.conformance.suites import SUITES


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_foreign_tests_pass(suite, tmp_path):
    if not suite.file().exists():
        pytest.skip(f"{suite.file()} is not there: run `python -m tests.conformance fetch`")
    if suite.backend != BACKEND:
        pytest.skip(f"runs on {suite.backend}")
    outcomes = suite.run(tmp_path / "report.xml")
    assert [test for test, outcome in outcomes.items() if outcome != "passed" and suite.reason(test) is None] == []
    assert any(outcome == "passed" for outcome in outcomes.values())
    unused = [pattern for pattern in suite.not_applicable if not any(pattern in test for test in outcomes)]
    assert unused == []
