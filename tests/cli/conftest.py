"""Fixtures for the tests of all commands."""

from __future__ import annotations

import pytest

from keras_slstm.cli.main import main
from tests.tuning.conftest import in_process, pretended  # noqa: F401  (fixtures of the tests of search)


@pytest.fixture
def command(request):
    """Runs the command of the test module in this process, which saves start-up time, and returns its exit status."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_")
    return lambda *words: main([name, *map(str, words)])
