"""The notebooks of the site run from top to bottom within two minutes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.backends("torch"), pytest.mark.ci_run()]  # with `--full` only

NOTEBOOKS = sorted(path for path in (Path(__file__).parents[1] / "docs/notebooks").glob("*.md") if path.stem != "index")


@pytest.mark.parametrize("notebook", [pytest.param(path, id=path.stem) for path in NOTEBOOKS])
def test_notebook_runs(notebook, tmp_path, monkeypatch):
    pytest.importorskip("keras_tuner", reason="a notebook needs the `tuner` extra")
    pytest.importorskip("matplotlib", reason="the notebooks need the `plots` extra").use("agg")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "notebook"}
    for line, cell in cells(notebook):
        exec(compile("\n" * line + cell, str(notebook), "exec"), names)


@pytest.mark.parametrize("notebook", [pytest.param(path, id=path.stem) for path in NOTEBOOKS])
def test_notebook_has_figures(notebook):
    assert re.search(r"plt\.show\(\)|keras_slstm\.plots\.", notebook.read_text(encoding="utf-8"))


def cells(notebook: Path) -> list[tuple[int, str]]:
    """The code cells of a notebook, with the line on which each begins."""
    text = notebook.read_text(encoding="utf-8")
    options = r"(?:---\n.*?^---\n)?"  # such as a caption
    found = re.finditer(rf"^```\{{code-cell\}} ipython3\n{options}(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in found]
