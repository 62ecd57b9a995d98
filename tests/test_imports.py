"""What `import keras_slstm` loads, and what it says when an extra is missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from keras_slstm.extras import require
from tests.backend import BACKEND

OPTIONAL = ["tensorflow_datasets", "keras_tuner", "tensorflow_addons", "matplotlib", "sklearn"]


def _loaded(names: list[str], code: str = "import keras_slstm") -> str:
    check = f"import sys; {code}; print([n for n in {names!r} if n in sys.modules])"
    environment = {**os.environ, "KERAS_BACKEND": BACKEND, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


def test_import_loads_no_optional_part():
    heavy = OPTIONAL if BACKEND == "tensorflow" else [*OPTIONAL, "tensorflow"]
    assert _loaded(heavy) == "[]"


def test_the_check_sees_what_is_loaded():
    assert _loaded(["json"], "import json") == "['json']"


def test_missing_extra_names_itself():
    with pytest.raises(
        ImportError, match=r'`not_installed\.part` is not installed.*pip install "keras-slstm\[plots\]"'
    ):
        require("not_installed.part", "plots")


def test_what_an_extra_itself_lacks_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import not_installed_either\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_either"):
        require("half_installed", "plots")
