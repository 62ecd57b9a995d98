"""Compares the CRF with real tensorflow-addons in a subprocess, where `tensorflow.keras` must be Keras 2."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.backend import BACKEND
from tests.processes import run_python

PROGRAM = Path(__file__).with_name("addons_program.py")
installed = all(importlib.util.find_spec(name) for name in ("tensorflow_addons", "tf_keras"))
on_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="tensorflow-addons is TensorFlow's")


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The largest relative difference of each quantity; or what was raised instead of an error that is due."""
    if not installed:
        pytest.skip("the extra `addons` is not installed")
    done = run_python(
        "-m", "tests.ops.kernels.addons_program", tmp_path_factory.mktemp("addons"), TF_USE_LEGACY_KERAS="1"
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
@pytest.mark.short_run
def test_equals_addons(compared, quantity):
    assert compared[quantity] < 1e-5


@on_tensorflow
@pytest.mark.short_run
def test_nothing_else_was_compared(compared):
    assert sorted(compared) == sorted(QUANTITIES)


@on_tensorflow
def test_without_legacy_keras_the_error_says_what_to_do():
    code = "import keras_slstm; keras_slstm.CRF(3, engine='addons')"
    done = run_python("-c", code, TF_USE_LEGACY_KERAS=None)
    assert done.returncode != 0
    expected = "TF_USE_LEGACY_KERAS=1" if installed else "`addons` extra"
    assert "ImportError" in done.stderr
    assert expected in done.stderr
