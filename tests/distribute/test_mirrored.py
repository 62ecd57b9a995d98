"""Two replicas in one process match one device, with uneven batches, XLA and half precision."""

from __future__ import annotations

import functools
import warnings

import pytest

from tests.backend import BACKEND
from tests.distribute import programs
from tests.distribute.input_programs import ON_TENSORFLOW, PROGRAM_OF
from tests.distribute.truth import TOLERANCES, compare, truth

pytestmark = [
    pytest.mark.skipif(BACKEND != "tensorflow", reason="MirroredStrategy is TensorFlow's"),
    pytest.mark.xdist_group("two_processes"),
]


@pytest.fixture(autouse=True)
def _two_replicas(monkeypatch):
    import tensorflow as tf

    # The default collective operations cannot serve several strategies in one process.
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], tf.distribute.ReductionToOneDevice())
    for program in ("train_average", "train_variants", *{PROGRAM_OF[kind] for kind in ON_TENSORFLOW}):
        truth(program)  # must run before the strategy is replaced
    monkeypatch.setattr(programs.distribute, "strategy", lambda: strategy)


def test_classifier():
    found, expected = dict(programs.train_average()), dict(truth("train_average"))
    for arrays in (found, expected):
        arrays.pop("classifier/losses")
    compare(found, expected, "classifier", atol=1e-5, rtol=1e-5)


@pytest.mark.short_run
def test_other_ways():
    with warnings.catch_warnings():  # not in the fixture, where Keras warns at the end of a Grain dataset
        warnings.filterwarnings("error", "Your input ran out of data")
        found = programs.train_variants()
    for way, tolerance in TOLERANCES.items():
        compare(found, truth("train_variants"), way, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("kind", ON_TENSORFLOW)
@pytest.mark.short_run
def test_inputs_and_options(kind):
    compare(_found(PROGRAM_OF[kind]), truth(PROGRAM_OF[kind]), kind, atol=1e-5, rtol=1e-5)


@functools.cache
def _found(program):
    return getattr(programs, program)()


def test_replicas_draw_different_dropout_masks():
    found = programs.train_with_dropout()
    assert set(found["dropout/kept"]) == {0, 1, 2}  # only 0 and 2 if the masks were equal
    assert found["dropout/state"].tolist() == [1, 1]  # the seed, and the number of draws
