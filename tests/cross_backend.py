"""Weights saved on one backend load on another: `python -m tests.cross_backend FOLDER`.

`write` saves each case to FOLDER as `<name>.keras` (the model) and `<name>.npz` (its outputs). The command
loads them on the backend KERAS_BACKEND, runs them, and writes the failures to `<backend>.json`, by case.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

import keras
import numpy as np

import keras_slstm  # noqa: F401  registers the layers
import tests.layers.partition
import tests.layers.self_attending  # noqa: F401
from tests.backend import BACKEND
from tests.layer_case import CLOSE, LayerCase, randomize
from tests.layer_checks import predict, text_model, token_ids
from tests.processes import run_python


def write(folder: Path, cases: Iterable[LayerCase]) -> None:
    for case in cases:
        model = text_model(case, head=False)
        randomize(model)
        model.save(folder / f"{case.name}.keras")
        np.savez(folder / f"{case.name}.npz", *predict(model, token_ids()))


def problems(folder: Path, backend: str) -> dict[str, str]:
    """Run all cases of the folder on another backend in one process, and return the failures by case."""
    done = run_python("-m", "tests.cross_backend", folder, KERAS_BACKEND=backend)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / f"{backend}.json").read_text())


def _problem(path: Path) -> str | None:
    try:
        found = predict(keras.saving.load_model(path), token_ids())
        with np.load(path.with_suffix(".npz")) as expected:
            for one, name in zip(found, expected.files, strict=True):
                np.testing.assert_allclose(one, expected[name], **CLOSE)
    except Exception:  # reported for this case; the others continue
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    found = {path.stem: _problem(path) for path in sorted(folder.glob("*.keras"))}
    failed = {name: problem for name, problem in found.items() if problem}
    (folder / f"{BACKEND}.json").write_text(json.dumps(failed))
