"""`beam_search` against the enumeration of all sequences, and against the most probable id at every step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops.beam_search import Ids, beam_search
from tests.backend import BACKEND, MODES, dtype_policy, outputs

pytestmark = pytest.mark.short_run("torch")

VOCABULARY = Ids(5)  # padding, start and end, and two that are written
BATCH, LONGEST = 3, 4
MODE = MODES[-1] if BACKEND == "jax" else "eager"  # in eager mode, JAX would compile each operation separately
LIMITS = np.array([4, 3, 1])
rng = np.random.default_rng(0)
# Log-probabilities of the next id after the last id and the state, which counts what was written, in its own way.
TABLE = rng.normal(size=(BATCH, VOCABULARY.size, VOCABULARY.size)) * 2
DRIFT = rng.normal(size=(VOCABULARY.size, VOCABULARY.size))


def log_softmax(x):
    return x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True))


def log_probabilities(row, sequence):
    """Return the log-probabilities of all ids after a sequence, in NumPy."""
    state = np.zeros(VOCABULARY.size)
    last = VOCABULARY.start
    for new in [*sequence, None]:
        state = 0.5 * state + DRIFT[last]
        scores = TABLE[row, last] + state
        last = new
    return log_softmax(scores)


def score(row, sequence, length_penalty):
    total = sum(log_probabilities(row, sequence[:i])[new] for i, new in enumerate(sequence))
    return total / len(sequence) ** length_penalty


def sequences(row):
    """Return all possible outputs of a row: ended sequences, and those of maximum length."""
    for length in range(1, LIMITS[row] + 1):
        for body in itertools.product([3, 4], repeat=length - 1):
            yield [*body, VOCABULARY.end]
            if length == LIMITS[row]:
                yield from ([*body, new] for new in (3, 4))


def search(beam, length_penalty, mode=MODE, rows=slice(None), longest=LONGEST):
    def function(table, drift, limits):
        limits = ops.reshape(limits, (-1,))

        def step(last, state):
            (memory, row) = state
            memory = 0.5 * memory + ops.take(drift, last, axis=0)
            scores = ops.take(ops.reshape(table, (-1, VOCABULARY.size)), row[:, 0] * VOCABULARY.size + last, axis=0)
            return ops.log_softmax(scores + memory), [memory, row]

        count = ops.shape(limits)[0]
        state = [
            ops.zeros((count, VOCABULARY.size), dtype="float64"),
            ops.reshape(ops.arange(count, dtype="int32"), (-1, 1)),
        ]
        return beam_search(step, state, limits, longest, VOCABULARY, beam, length_penalty, "float64")

    with dtype_policy("float64"):
        return outputs(function, TABLE[rows], DRIFT, LIMITS[rows, None].astype("int32"), mode=mode)


def strip(row):
    return [int(i) for i in row if i != VOCABULARY.padding]


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 3.0])
def test_an_exhaustive_beam_finds_the_best_sequence(length_penalty):
    found, scores = search(40, length_penalty)
    for row in range(BATCH):
        best = max(sequences(row), key=lambda sequence: score(row, sequence, length_penalty))
        assert strip(found[row]) == best
        assert scores[row] == pytest.approx(score(row, best, length_penalty), abs=1e-9)


def test_the_length_penalty_matters():
    lengths = [sum(len(strip(row)) for row in search(40, penalty)[0]) for penalty in (0.0, 3.0)]
    assert lengths[0] < lengths[1]


def test_a_beam_of_one_is_greedy_search():
    found, scores = search(1, 1.0)
    for row in range(BATCH):
        sequence = []
        while len(sequence) < LIMITS[row] and VOCABULARY.end not in sequence:
            following = log_probabilities(row, sequence)
            following[[VOCABULARY.padding, VOCABULARY.start]] = -np.inf
            sequence.append(int(np.argmax(following)))
        assert strip(found[row]) == sequence
        assert scores[row] == pytest.approx(score(row, sequence, 1.0), abs=1e-9)


@pytest.mark.parametrize("beam", [1, 2, 3])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_narrow_beams_are_the_explicit_loop(beam, length_penalty):
    found, scores = search(beam, length_penalty)
    for row in range(BATCH):
        expected = explicit(row, beam, length_penalty)
        assert strip(found[row]) == expected
        assert scores[row] == pytest.approx(score(row, expected, length_penalty), abs=1e-9)


def explicit(row, beam, length_penalty):
    """Beam search with lists, without the shortcut for rows that are decided."""
    kept = [[]]

    def over(sequence):
        return VOCABULARY.end in sequence or len(sequence) == LIMITS[row]

    while not all(map(over, kept)):
        longer = [[*s, new] for s in kept if not over(s) for new in (VOCABULARY.end, 3, 4)]
        candidates = [s for s in kept if over(s)] + longer
        kept = sorted(candidates, key=lambda s: -score(row, s, length_penalty))[:beam]
    return kept[0]


@pytest.mark.parametrize("mode", MODES[1:])
def test_compiled_equals_eager(mode):
    for one, other in zip(search(3, 1.0, mode), search(3, 1.0, "eager")):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_a_row_does_not_depend_on_other_rows_or_padding():
    found, scores = search(2, 1.0)
    alone, its_score = search(2, 1.0, rows=slice(0, 1), longest=LONGEST + 3)
    assert strip(alone[0]) == strip(found[0])
    assert its_score[0] == pytest.approx(scores[0], abs=1e-12)
