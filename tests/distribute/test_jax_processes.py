"""Two processes on JAX match one process."""

from __future__ import annotations

import pytest

from keras_slstm.distribute.jax_processes import PartOfBatches
from keras_slstm.text.batches import TextBatches
from tests.backend import BACKEND
from tests.distribute import programs, two_processes
from tests.distribute.input_programs import ON_JAX, PROGRAM_OF
from tests.distribute.truth import compare, truth

needs_jax = pytest.mark.skipif(BACKEND != "jax", reason="keras.distribution is for JAX")
pytestmark = pytest.mark.xdist_group("two_processes")


@pytest.mark.parametrize(("devices", "expected"), [(2, [[1, 2], [3, 3]]), (6, [[1, 2, 3], [3, 3, 3]])])
def test_parts_have_equal_size(devices, expected):
    data = TextBatches([[1], [2], [3]], labels=[1, 2, 3], batch_size=3, shuffle=False)
    parts = [PartOfBatches(data, index, 2, devices)[0][0] for index in (0, 1)]
    assert [part["keras_slstm_part"][1].tolist() for part in parts] == expected
    assert all(part["keras_slstm_part"][0].shape == (len(expected[0]), 8) for part in parts)
    assert all(part["keras_slstm_rows"].tolist() == [3] * len(expected[0]) for part in parts)


def test_class_weights_are_sample_weights():
    data = TextBatches([[1], [2], [3]], labels=[1, 2, 3], batch_size=3, shuffle=False)
    part = PartOfBatches(data, 1, 2, 2, class_weight={2: 0.5, 3: 4.0})[0][0]["keras_slstm_part"]
    assert part[2].tolist() == [4, 4]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return two_processes.run(programs.ON_JAX, tmp_path_factory.mktemp("two"))


@needs_jax
@pytest.mark.parametrize("program", ["classifier", "tagger", "texts", "dropout", "lists", "refused"])
@pytest.mark.short_run
def test_both_processes_agree(found, program):
    two_processes.assert_both_the_same(found, program)


@needs_jax
@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("classifier", "train_classifier"),
        ("tagger", "train_tagger"),
        ("texts", "train_on_texts"),
        ("dropout", "train_with_dropout"),
    ],
)
@pytest.mark.short_run
def test_two_processes_match_one(found, name, program):
    """Compares weights, losses and metrics of each epoch, logs of callbacks, `evaluate`, `predict` and dropout."""
    compare(found[0], truth(program), name, atol=1e-5, rtol=1e-5)


@needs_jax
@pytest.mark.parametrize("kind", ON_JAX)
@pytest.mark.short_run
def test_inputs_and_options_match_one_process(found, kind):
    compare(found[0], truth(PROGRAM_OF[kind]), kind, atol=1e-5, rtol=1e-5)


@needs_jax
@pytest.mark.short_run
def test_differences_are_refused(found):
    two_processes.assert_differences_are_refused(found)
