"""Fixtures for the tests of all commands."""

from __future__ import annotations

import pytest

from keras_slstm.cli.main import main
from tests.tuning.conftest import in_process, pretended  # noqa: F401  (fixtures of the tests of search)

# A classifier that trains within seconds.
TINY = ["--encoder", "bilstm", "--units", "8", "--embedding-dim", "8", "--learning-rate", "0.02", "--dropout", "0"]


@pytest.fixture
def command(request):
    """Runs the command of the test module in this process, which saves start-up time, and returns its exit status."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_")
    return lambda *words: main([name, *map(str, words)])


@pytest.fixture(scope="session")
def mails(tmp_path_factory):
    """A file of texts whose first word says the label."""
    path = tmp_path_factory.mktemp("data") / "mails.tsv"
    lines = [
        f"{'good' if i % 2 else 'bad'} {'news ' * (i % 5)}from number {i % 9}\t{'joy' if i % 2 else 'grief'}"
        for i in range(120)
    ]
    path.write_text("text\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path
