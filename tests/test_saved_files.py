"""Files of an earlier version load and give the same predictions (see `tests/saved/make.py`)."""

from __future__ import annotations

import json
import zipfile

import keras
import numpy as np
import pytest
from packaging.version import Version

import keras_slstm  # noqa: F401 (registers the classes)
from tests.saved.make import FOLDER, PREDICTIONS, all_models, predictions

pytestmark = pytest.mark.short_run("torch")

NAMES = sorted(path.stem for path in FOLDER.glob("*.keras"))


def test_every_model_has_a_file():
    assert sorted(all_models()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_saved_file(name):
    with zipfile.ZipFile(FOLDER / f"{name}.keras") as file:
        written_by = json.loads(file.read("metadata.json"))["keras_version"]
    if Version(keras.__version__) < Version(written_by):
        pytest.skip(f"Keras {keras.__version__} does not know every argument in a file of Keras {written_by}")
    saved = np.load(PREDICTIONS)
    expected = [
        saved[key] for key in sorted(saved, key=lambda key: int(key.split("/")[1])) if key.split("/")[0] == name
    ]
    found = predictions(keras.saving.load_model(FOLDER / f"{name}.keras"))
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=1e-5)
