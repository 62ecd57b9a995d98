"""Two processes under MultiWorkerMirroredStrategy match one process."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backend import BACKEND
from tests.distribute import programs, two_processes
from tests.distribute.input_programs import KINDS, OPTIONS, PROGRAM_OF
from tests.distribute.truth import TOLERANCES, compare, truth

pytestmark = [
    pytest.mark.skipif(BACKEND != "tensorflow", reason="MultiWorkerMirroredStrategy is TensorFlow's"),
    pytest.mark.xdist_group("two_processes"),
    pytest.mark.short_run(),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return two_processes.run(programs.ON_TENSORFLOW, tmp_path_factory.mktemp("two"))


@pytest.mark.parametrize(
    "program", ["classifier", "tagger", "texts", "dropout", "lists", "refused", "xla", "half", "several"]
)
def test_both_find_the_same(found, program):
    two_processes.assert_both_the_same(found, program)


def test_classifier_is_that_of_one_process(found):
    first, expected = dict(found[0]), dict(truth("train_classifier"))
    losses, running = first.pop("classifier/losses"), expected.pop("classifier/losses")
    assert len(running) == 10
    compare(first, expected, "classifier", atol=1e-5, rtol=1e-5)
    # Within an epoch, callbacks get the mean of the replicas' running means.
    np.testing.assert_allclose(losses, running, rtol=0.1)


def test_tagger_is_that_of_one_process(found):
    compare(found[0], truth("train_tagger"), "tagger", atol=1e-5, rtol=1e-5)


def test_own_models_share_out_by_themselves(found):
    compare(found[0], truth("train_on_texts"), "texts", atol=1e-5, rtol=1e-5)


def test_lists_are_those_of_one_process(found):
    compare(found[0], truth("train_on_lists"), "lists", atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("way", "tolerance"), TOLERANCES.items())
def test_other_ways_are_those_of_one_process(found, way, tolerance):
    compare(found[0], truth("train_variants"), way, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("kind", [*KINDS, "outputs", *OPTIONS, "own_step", "several_steps"])
def test_inputs_and_options_are_those_of_one_process(found, kind):
    compare(found[0], truth(PROGRAM_OF[kind]), kind, atol=1e-5, rtol=1e-5)


def test_each_drops_out_what_it_draws(found):
    kept = found[0]["dropout/kept"]
    assert set(kept) == {0, 1, 2}  # with equal masks, 0 and 2
    np.testing.assert_array_equal(found[0]["dropout/state"], [1, 1])  # the seed, and how often it was drawn from


def test_differences_are_refused(found):
    two_processes.assert_differences_are_refused(found)
