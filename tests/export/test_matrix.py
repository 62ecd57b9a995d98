"""Exported models give the same labels and numbers at other shapes, in a process without this package."""

import keras
import numpy as np
import pytest

import keras_slstm
from tests.export import cases, columns, outcomes

BACKEND = keras.backend.backend()
COLUMNS = columns.COLUMNS[BACKEND]
# PyTorch exports a loop over time only for the length of its example.
LOOPS = sorted(cases.LAYERS.keys() - {"SLSTM"})
ROWS = sorted(set().union(*(outcomes.rows_with(BACKEND, column, outcomes.EXACT) for column in COLUMNS)))
if BACKEND == "jax":  # the other rows take minutes to compile
    ROWS = ["SLSTM"]


@pytest.fixture(scope="module", params=ROWS)
def built(request):
    """The name of a model, the model, batches, and its outputs for them."""
    model = cases.LAYERS[request.param]()
    cases.randomize(model)
    batches = cases.vectors(model)
    return request.param, model, batches, cases.expected(model, batches)


@pytest.fixture(scope="module")
def results(built, tmp_path_factory):
    """The outputs of each runtime for each batch, or an error. One process runs all columns of a row."""
    name, model, batches, _ = built
    folder = tmp_path_factory.mktemp("exported")
    files = {
        title: column.write(model, folder / str(number))
        for number, (title, column) in enumerate(COLUMNS.items())
        if not column.missing and name in outcomes.rows_with(BACKEND, title, outcomes.EXACT)
    }
    return outcomes.run(files, batches, folder)


@pytest.mark.ci_run
@pytest.mark.parametrize("column", COLUMNS)
def test_matrix(built, results, column):
    if missing := COLUMNS[column].missing:
        pytest.skip(f"needs {', '.join(missing)}")
    if column not in results:
        pytest.skip("the guide says that this cell does not work")
    assert "error" not in results[column], str(results[column]["error"])
    assert not outcomes.differing(results[column], built[3])


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
def test_pytorch_refuses_a_loop_outside_export_mode(tmp_path):
    model = cases.LAYERS["CASLSTM"]()
    cases.expected(model, cases.vectors(model)[:1])
    with pytest.raises(ValueError, match="cannot export a loop over time"):
        model.export(str(tmp_path / "model.onnx"), format="onnx", verbose=False)
    assert not list(tmp_path.iterdir())


def test_layers_are_equal_in_export_mode():
    """Checks any batch size and length, including an empty sentence, compiled and eager."""
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
