"""The README and the pages of the site: their code runs, their links work, and no public name is missing."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import keras_slstm

pytestmark = pytest.mark.backends("tensorflow")  # the code of the pages is the same on every backend

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGES = re.findall(r"^   (keras_slstm\.\w+)$", (ROOT / "docs/api/index.md").read_text(), flags=re.MULTILINE)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python blocks of a page, with the line on which each begins, but those that it says are `not run`."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^(% not run: [^\n]+\n\n)?```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(2)), match[2]) for match in found if not match[1]]


_WITH_CODE = [
    pytest.param(
        page, id=str(page.relative_to(ROOT)), marks=[] if page.name == "README.md" else pytest.mark.short_run()
    )
    for page in PAGES
    if blocks(page)
]


@pytest.mark.parametrize("page", _WITH_CODE)
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for line, block in blocks(page):
        exec(compile("\n" * line + block, str(page), "exec"), names)


def test_readme_has_code():
    assert len(blocks(ROOT / "README.md")) >= 3


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_public_name_is_documented():
    reference = (ROOT / "docs/api/index.md").read_text(encoding="utf-8")
    assert [name for name in keras_slstm.__all__ if name.startswith("crf_") and f"   {name}\n" not in reference] == []
    documented = {name for package in PACKAGES for name in importlib.import_module(package).__all__}
    public = {name for name in keras_slstm.__all__ if name[0].isupper()}
    assert public - documented == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_class_and_function_has_a_docstring(package):
    module = importlib.import_module(package)
    missing = [name for name in module.__all__ if callable(o := getattr(module, name)) and not o.__doc__]
    assert missing == []
