"""Tests `tuning/search.py`."""

import runpy
import sys
from pathlib import Path

import pytest

from keras_slstm.models import encoders
from keras_slstm.tuning import read_trials, spaces

pytestmark = pytest.mark.backends("torch")  # does not depend on the backend

SCRIPT = Path(__file__).parents[2] / "tuning" / "search.py"


@pytest.fixture
def script(monkeypatch):
    """Runs the script in this process."""
    for registry in (encoders._ENCODERS, spaces._SPACES):
        monkeypatch.delitem(registry, "gru", raising=False)  # the script adds it

    def run(*words):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, words)])
        runpy.run_path(str(SCRIPT), run_name="__main__")

    yield run
    for registry in (encoders._ENCODERS, spaces._SPACES):
        registry.pop("gru", None)


def test_it_is_one_page_of_public_names():
    lines = SCRIPT.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    imports = [line for line in lines if "import keras_slstm" in line or "from keras_slstm" in line]
    assert [line.split("  #")[0] for line in imports] == ["import keras_slstm", "import keras_slstm.tuning"]


@pytest.mark.short_run
def test_searches_tests_and_uses_the_best_model(script, tmp_path, in_process, capsys):
    small = ["--texts", 64, "--epochs", 1, "--output", tmp_path / "s"]
    script(*small, "--trials", 2)
    out = capsys.readouterr().out
    assert len(read_trials(tmp_path / "s")) == 2
    assert "default: test accuracy 0." in out
    assert "\tCould you book me a flight from Oslo to Rome?" in out
    assert (tmp_path / "s" / "best.keras").exists()


def test_a_search_of_another_kind_is_one_line(script, tmp_path, in_process, capsys):
    (tmp_path / "search.json").write_text("{}")
    with pytest.raises(SystemExit):
        script("--texts", 64, "--epochs", 1, "--output", tmp_path)
    assert "contains another search" in capsys.readouterr().err


@pytest.mark.parametrize("number", [0, 9000])
def test_the_number_of_texts_is_checked(script, tmp_path, in_process, capsys, number):
    with pytest.raises(SystemExit):
        script("--texts", number, "--output", tmp_path / "s")
    assert f"--texts must be from 1 to 8,000, but got {number}" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
