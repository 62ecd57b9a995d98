"""Fixtures of the tests of all scripts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def script(request, monkeypatch):
    """Runs the script that the test module is named for in this process, which saves the seconds of a start.

    It gives the exit status; `script.module` is the script as a module.
    """
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_")
    path = EXAMPLES / f"{name}.py"
    monkeypatch.syspath_prepend(EXAMPLES)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", [str(path), *map(str, arguments)])
        try:
            return module.main()
        except SystemExit as end:  # argparse
            return end.code

    run.module = module
    return run
