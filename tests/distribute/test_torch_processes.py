"""Two processes on PyTorch match one process."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.backend import BACKEND
from tests.distribute import programs, two_processes
from tests.distribute.input_programs import ON_PYTORCH, PROGRAM_OF
from tests.distribute.truth import compare, truth

pytestmark = [
    pytest.mark.skipif(BACKEND != "torch", reason="torch.distributed is PyTorch's"),
    pytest.mark.xdist_group("two_processes"),
    pytest.mark.short_run(),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return two_processes.run(programs.ON_TORCH, tmp_path_factory.mktemp("two"))


@pytest.mark.parametrize("program", ["classifier", "tagger", "texts", "dropout", "lists", "words", "refused"])
def test_both_processes_agree(found, program):
    two_processes.assert_both_the_same(found, program)


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("classifier", "train_classifier"),
        ("tagger", "train_tagger"),
        ("texts", "train_on_texts"),
        ("words", "train_words"),
    ],
)
def test_two_processes_match_one(found, name, program):
    """Compares weights, losses and metrics of each epoch, the logs of callbacks, `evaluate` and `predict`."""
    compare(found[0], truth(program), name, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ON_PYTORCH)
def test_inputs_and_options_match_one_process(found, kind):
    compare(found[0], truth(PROGRAM_OF[kind]), kind, atol=1e-5, rtol=1e-5)


def test_replicas_draw_different_dropout_masks(found):
    kept = found[0]["dropout/kept"]
    assert set(kept) == {0, 1, 2}  # only 0 and 2 if the masks were equal
    np.testing.assert_array_equal(found[0]["dropout/state"], [1, 1])  # the seed, and the number of draws


def test_differences_are_refused(found):
    for arrays in found:
        assert "Processes have different data" in str(arrays["refused/data"])
        assert re.search(r"learning_rate is 0\.1.* on process 0 .* 1\.1", str(arrays["refused/rate"]))
        assert "argument.epochs is 1 on process 0 (localhost:" in str(arrays["refused/epochs"])
        assert re.search(r"output_dim is 6 on process 0 .* 7 on process 1", str(arrays["refused/units"]))
