"""A small study."""

from __future__ import annotations

import pytest

from benchmarks import study as studies
from benchmarks import study_report, study_statistics
from tests.benchmarks.recorded import FILE


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(study_report, "STUDIES", tmp_path)
    monkeypatch.setattr(study_statistics, "RESAMPLES", 1_000)
    (tmp_path / "s.toml").write_text(FILE)
    return studies.read_study(tmp_path / "s.toml")
