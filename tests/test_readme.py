"""The README's Python code runs, from top to bottom, and its results table is the one that was written by the runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from keras_slstm import layers

pytestmark = pytest.mark.backends("tensorflow")  # no tensors: once is enough

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_readme_has_code():
    assert len(BLOCKS) >= 3


def test_readme_code_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec("\n".join(BLOCKS), {"__name__": "readme"})


def test_readme_names_every_public_layer():
    assert [name for name in layers.__all__ if name not in README] == []


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https?://|#)([^)]+)\)", README))
def test_readme_links_lead_somewhere(link):
    assert (ROOT / link).exists()


def test_tables_are_what_the_runs_have_written():
    from benchmarks import tables

    assert tables.filled(README) == README
