"""Two processes under MultiWorkerMirroredStrategy match one process."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backend import BACKEND
from tests.distribute import programs, two_processes
from tests.distribute.input_programs import ON_TENSORFLOW, PROGRAM_OF
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
def test_both_processes_agree(found, program):
    two_processes.assert_both_the_same(found, program)


def test_classifier_matches_one_process(found):
    first, expected = dict(found[0]), dict(truth("train_classifier"))
    losses, running = first.pop("classifier/losses"), expected.pop("classifier/losses")
    assert len(running) == 10
    compare(first, expected, "classifier", atol=1e-5, rtol=1e-5)
    # Within an epoch, callbacks get the average of the replicas' running means.
    np.testing.assert_allclose(losses, running, rtol=0.1)


def test_tagger_matches_one_process(found):
    compare(found[0], truth("train_tagger"), "tagger", atol=1e-5, rtol=1e-5)


def test_text_models_divide_their_data(found):
    compare(found[0], truth("train_on_texts"), "texts", atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("way", "tolerance"), TOLERANCES.items())
def test_variants_match_one_process(found, way, tolerance):
    compare(found[0], truth("train_variants"), way, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("kind", ON_TENSORFLOW)
def test_inputs_and_options_match_one_process(found, kind):
    compare(found[0], truth(PROGRAM_OF[kind]), kind, atol=1e-5, rtol=1e-5)


def test_replicas_draw_different_dropout_masks(found):
    kept = found[0]["dropout/kept"]
    assert set(kept) == {0, 1, 2}  # only 0 and 2 if the masks were equal
    np.testing.assert_array_equal(found[0]["dropout/state"], [1, 1])  # the seed, and the number of draws


def test_differences_are_refused(found):
    two_processes.assert_differences_are_refused(found)
