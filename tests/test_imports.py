"""Tests of what `import keras_slstm` loads, and of the message about a missing extra."""

from __future__ import annotations

import pytest

from keras_slstm.extras import require
from tests.backend import BACKEND
from tests.processes import run_python

OPTIONAL = [
    "tensorflow_datasets",
    "keras_tuner",
    "tensorflow_addons",
    "matplotlib",
    "sklearn",
    "tokenizers",
    "sacrebleu",
]


def _loaded(names: list[str], before: str, code: str = "import keras_slstm") -> list[str]:
    """Which of the modules `code` loads that `before` has not loaded already."""
    check = f"import sys; {before}; old = set(sys.modules); {code}; print(*({{*{names!r}}} & (set(sys.modules) - old)))"
    done = run_python("-c", check, KERAS_BACKEND=BACKEND, TF_CPP_MIN_LOG_LEVEL="3")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.short_run
def test_import_loads_no_optional_part():
    assert _loaded(OPTIONAL, before="import keras") == []  # some of which Keras itself loads where they are installed


@pytest.mark.skipif(BACKEND == "tensorflow", reason="TensorFlow is the backend")
@pytest.mark.short_run
def test_import_loads_no_tensorflow():
    assert _loaded(["tensorflow"], before="pass") == []


def test_the_check_detects_loaded_modules():
    assert _loaded(["json", "wave"], before="import json", code="import json, wave") == ["wave"]


def test_missing_extra_names_itself():
    with pytest.raises(
        ImportError, match=r'`not_installed\.part` is not installed.*pip install "keras-slstm\[plots\]"'
    ):
        require("not_installed.part", "plots")


def test_a_missing_dependency_of_an_extra_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import not_installed_either\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_either"):
        require("half_installed", "plots")
