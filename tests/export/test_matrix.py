"""Models are exported, run by a process without this package at other shapes, and give the same labels and numbers."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_slstm
from tests.export import cases, columns, runtimes
from tests.processes import run_python

BACKEND = keras.backend.backend()
COLUMNS = columns.COLUMNS[BACKEND]
# PyTorch writes a loop over time at the length of its example.
LOOPS = sorted(cases.LAYERS.keys() - {"SLSTM"})
ROWS = sorted(cases.LAYERS.keys() - {*(LOOPS if BACKEND == "torch" else ()), "Keras' BiLSTM"})
if BACKEND == "jax":
    ROWS = ["SLSTM"]


@pytest.fixture(scope="module", params=ROWS)
def built(request):
    """A model, with batches and its outputs for them."""
    model = cases.LAYERS[request.param]()
    cases.randomize(model)
    batches = cases.vectors(model)
    return model, batches, cases.expected(model, batches)


@pytest.fixture(scope="module")
def results(built, tmp_path_factory):
    """The outputs of each runtime for each batch, or an error: all columns of a row in one process."""
    model, batches, _ = built
    folder = tmp_path_factory.mktemp("exported")
    np.savez(folder / "in.npz", **{f"{i}/{k}": x for i, batch in enumerate(batches) for k, x in batch.items()})
    jobs = []
    for number, column in enumerate(COLUMNS.values()):
        if not column.missing:
            file = column.write(model, folder / str(number))
            names = {"inputs": str(folder / "in.npz"), "outputs": str(folder / f"out{number}.npz")}
            jobs.append({"runtime": column.runtime, "file": str(file), **names})
    Path(folder, "jobs.json").write_text(json.dumps(jobs))
    finished = run_python(runtimes.__file__, folder / "jobs.json", PYTHONPATH=None)
    assert finished.returncode == 0, finished.stderr
    return {name: folder / f"out{number}.npz" for number, name in enumerate(COLUMNS)}


@pytest.mark.ci_run
@pytest.mark.parametrize("column", COLUMNS)
def test_matrix(built, results, column):
    check(column, results, built[2])


def check(column, results, expected):
    if missing := COLUMNS[column].missing:
        pytest.skip(f"needs {', '.join(missing)}")
    with np.load(results[column]) as found:
        assert "error" not in found, str(found["error"])
        for batch, outputs in enumerate(expected):
            own = {key.split("/", 1)[1]: found[key] for key in found if key.startswith(f"{batch}/")}
            for name, values in outputs.items():
                other = own[name] if len(outputs) > 1 else next(iter(own.values()))
                assert other.shape == values.shape
                if values.dtype == "int32":
                    np.testing.assert_array_equal(other, values)
                else:
                    np.testing.assert_allclose(other, values, atol=1e-5)


@pytest.mark.skipif(BACKEND != "torch", reason="other backends write loops")
@pytest.mark.parametrize("row", [*LOOPS[:2], "SuBiLSTM"])
def test_pytorch_refuses_a_loop_over_time(row, tmp_path):
    model = cases.LAYERS[row]()
    for name, column in COLUMNS.items():
        with pytest.raises((ValueError, RuntimeError), match="cannot export a loop over time") as caught:
            column.write(model, tmp_path / name.strip("."))
        assert "KERAS_BACKEND=tensorflow" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(BACKEND != "torch", reason="other backends write loops")
def test_pytorch_refuses_a_loop_outside_of_export_mode(tmp_path):
    model = cases.LAYERS["CASLSTM"]()
    cases.expected(model, cases.vectors(model)[:1])
    with pytest.raises(ValueError, match="cannot export a loop over time"):
        model.export(str(tmp_path / "model.onnx"), format="onnx", verbose=False)
    assert not list(tmp_path.iterdir())


def test_layers_give_the_same_in_export_mode():
    """Any batch and length, also an empty sentence, in a compiled function as in an eager one."""
    model = cases.LAYERS["CRFDecoder"]()
    cases.randomize(model)
    batches = [*cases.vectors(model)[1:3], _nothing()]
    expected = cases.expected(model, batches)
    with keras_slstm.export_mode():
        found = cases.expected(model, batches)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one["labels"], other["labels"])
        np.testing.assert_allclose(one["probabilities"], other["probabilities"], atol=1e-6)


def _nothing():
    return {"x": np.ones((2, 3, cases.FEATURES), "float32"), "mask": np.zeros((2, 3), bool)}
