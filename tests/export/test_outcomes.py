"""The guide's export table matches the records, which are complete and as good as promised."""

import numpy as np
import pytest

from tests.export import cases, columns, outcomes

ENCODERS = [row for row in cases.LAYERS if not row.startswith("Keras")]


def test_the_guide_has_the_table_of_the_records():
    page = outcomes.PAGE.read_text(encoding="utf-8")
    assert outcomes.fill(page, outcomes.read()) == page, "run python -m tests.export table"


@pytest.mark.parametrize("row", cases.LAYERS)
def test_every_cell_was_run(row):
    names = {outcomes.title(backend, column) for backend, each in columns.COLUMNS.items() for column in each}
    assert set(outcomes.read()[row]) == names


@pytest.mark.parametrize("column", columns.COLUMNS["tensorflow"])
def test_all_layers_are_exact_from_tensorflow(column):
    assert outcomes.rows_with("tensorflow", column, outcomes.EXACT)[: len(ENCODERS)] == ENCODERS


def test_no_layer_gives_wrong_numbers():
    found = outcomes.read()
    assert not [row for row in ENCODERS if {outcomes.WRONG, outcomes.FAILS} & set(found[row].values())]


def test_other_numbers_labels_and_shapes_differ():
    scores, labels = np.array([0.5, 0.5], "float32"), np.array([1, 2], "int32")
    expected = [{"labels": labels, "probabilities": scores}]
    found = {"0/labels": labels, "0/probabilities": scores + 1e-6}
    assert not outcomes.differing(found, expected)
    assert outcomes.differing({**found, "0/labels": labels + 1}, expected) == ["0/labels"]
    assert outcomes.differing({**found, "0/probabilities": scores + 1e-3}, expected) == ["0/probabilities"]
    assert outcomes.differing({**found, "0/probabilities": scores[:1]}, expected) == ["0/probabilities"]
