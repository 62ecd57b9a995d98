"""The CRF beside real tensorflow-addons, in a process of its own: `tensorflow.keras` has to be Keras 2 there."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backend import BACKEND

PROGRAM = Path(__file__).with_name("addons_program.py")
installed = all(importlib.util.find_spec(name) for name in ("tensorflow_addons", "tf_keras"))
on_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="tensorflow-addons is TensorFlow's")


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The largest relative difference of each quantity; or what was raised instead of an error that is due."""
    if not installed:
        pytest.skip("the extra `addons` is not installed")
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    command = [sys.executable, "-m", "tests.addons_program", str(tmp_path_factory.mktemp("addons"))]
    done = subprocess.run(
        command, env=environment, cwd=PROGRAM.parents[1], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


QUANTITIES = [
    *(f"{name}: {kind}" for name in ("likelihood", "gradient by scores", "gradient by transitions", "decoding")
      for kind in ("ours", "engine")),
    "likelihood of labels known in part: engine",
    "trained weights: engine",
    *(f"from_addons: {source}" for source in ("layer", "h5", "weights.h5", "checkpoint", "without boundary")),
]  # fmt: skip


@on_tensorflow
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_equals_addons(compared, quantity):
    assert compared[quantity] < 1e-5


@on_tensorflow
def test_nothing_else_was_compared(compared):
    assert sorted(compared) == sorted(QUANTITIES)


@on_tensorflow
def test_without_legacy_keras_it_says_what_to_do():
    code = "import keras_slstm; keras_slstm.CRF(3, engine='addons')"
    environment = {key: value for key, value in os.environ.items() if key != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment, cwd=PROGRAM.parents[1], capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode != 0
    expected = "TF_USE_LEGACY_KERAS=1" if installed else "`addons` extra"
    assert "ImportError" in done.stderr
    assert expected in done.stderr
