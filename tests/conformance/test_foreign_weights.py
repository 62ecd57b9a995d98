"""Weights of other CRFs on Keras 2 decode to the same labels here. Skipped unless their files are fetched."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import keras_slstm
from tests.backend import to_numpy
from tests.conformance.suites import LAYERS
from tests.processes import run_python

pytestmark = pytest.mark.backends("tensorflow")  # the files are the same for every backend
ORIGINS = {"DeLFT": "ChainCRF", "keras-contrib": "keras-contrib", "tf2crf": "tf2crf", "keras-crf": "tensorflow-addons"}


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_weights_decode_as_in_the_original_library(layer, tmp_path):
    if not layer.file().exists():
        pytest.skip(f"{layer.file()} is not there: run `python -m tests.conformance fetch`")
    if not all(importlib.util.find_spec(name) for name in ("tf_keras", "tensorflow_addons")):
        pytest.skip("the extra `addons` is not installed")
    program = ("-m", "tests.conformance.foreign_weights", layer.name, layer.file(), tmp_path)
    done = run_python(*program, KERAS_BACKEND="tensorflow", TF_USE_LEGACY_KERAS="1")
    assert done.returncode == 0, done.stderr
    found = keras_slstm.read_crf_weights(tmp_path / "weights.h5")
    assert found.origin.startswith(ORIGINS[layer.name.split()[0]])
    stored = np.load(tmp_path / "decoded.npz")
    labels = keras_slstm.crf_decode(keras_slstm.CRF.from_weights(tmp_path / "weights.h5")(stored["inputs"]))
    np.testing.assert_array_equal(to_numpy(labels), stored["labels"])
