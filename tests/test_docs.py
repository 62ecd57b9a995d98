"""The code of the README and the site runs, their links work, and no public name is missing."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import NamedTuple

import keras
import pytest

import keras_slstm
from tests.processes import run_python

pytestmark = pytest.mark.backends("tensorflow")  # the code of the pages is the same on every backend

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGES = re.findall(r"^   (keras_slstm\.\w+)$", (ROOT / "docs/api/index.md").read_text(), flags=re.MULTILINE)


def blocks(page: Path) -> list[tuple[int, str]]:
    """Return the Python blocks of a page that are not marked `not run`, with their first lines."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^(% not run: [^\n]+\n\n)?```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(2)), match[2]) for match in found if not match[1]]


_WITH_CODE = [
    pytest.param(page, id=str(page.relative_to(ROOT)), marks=pytest.mark.short_run())
    for page in PAGES
    if page.name != "README.md" and blocks(page)
]


@pytest.mark.parametrize("page", _WITH_CODE)
def test_code_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for line, block in blocks(page):
        exec(compile("\n" * line + block, str(page), "exec"), names)
    # An answer shown on a page must be the output of its code.
    answers = re.findall(r"^print\(.*\)  # (\[.*?\])(?=$|:)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    printed = capsys.readouterr().out.splitlines()
    assert [answer for answer in answers if answer not in printed] == []


@pytest.mark.short_run  # half a minute of trainings
def test_code_of_the_readme_runs_as_a_quiet_file(tmp_path):
    code = [block for _, block in blocks(ROOT / "README.md")]
    assert len(code) >= 3
    (tmp_path / "readme.py").write_text("\n".join(code), encoding="utf-8")
    done = run_python("readme.py", folder=tmp_path, KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL=None)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("['cancel']\n")


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


def test_pages_of_classes_show_their_arguments_and_public_bases(monkeypatch):
    pytest.importorskip("sphinx")  # of the extra `docs`
    monkeypatch.syspath_prepend(ROOT / "docs/_extensions")
    extension = importlib.import_module("markdown_docstrings")
    arguments, _ = extension.sign(None, "class", "SLSTM", keras_slstm.SLSTM, None, "(*args, **kwargs)", "")
    assert arguments.startswith("(units, steps=9, window=1,")
    for layer, base in ((keras_slstm.SLSTM, keras.layers.Layer), (keras_slstm.CASLSTM, keras.layers.RNN)):
        bases = list(layer.__bases__)
        extension.name_public_bases(None, layer.__name__, layer, None, bases)
        assert bases == [base]
    bases = [NamedTuple]  # a function
    extension.name_public_bases(None, "", None, None, bases)
    assert bases == [NamedTuple]
