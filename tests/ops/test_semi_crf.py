"""The semi-Markov CRF against all segmentations of short sentences, under every mask."""

from __future__ import annotations

import functools
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from keras import ops

from keras_slstm.ops import semi_crf_functions as semi
from keras_slstm.ops.crf import FORBIDDEN
from keras_slstm.ops.semi_crf import SegmentPotentials
from tests.backend import BACKEND, MODES, default_cotangent, dtype_policy, gradients, outputs, to_numpy
from tests.oracles import crf as chain
from tests.oracles import semi_crf as oracle
from tests.oracles.differences import central_differences

pytestmark = pytest.mark.short_run("torch")

EXACT = {"rtol": 1e-10, "atol": 1e-10}
TIME = 4
NAMES = ("unary", "begins", "ends", "durations", "transitions")
# Labels and the largest length, also one that is beyond the sentence.
SIZES = [(1, 2), (2, 1), (2, 3), (3, 2), (2, 6)] if BACKEND == "torch" else [(2, 3)]


@functools.cache
def _case(size, longest):
    rng = np.random.default_rng(size + 10 * longest)
    mask = np.array(list(itertools.product([True, False], repeat=TIME)), bool)
    words = [np.where(mask[..., None], 2 * rng.normal(size=(len(mask), TIME, size)), 0) for _ in range(3)]
    durations, transitions = rng.normal(size=(longest, size)), 2 * rng.normal(size=(size, size))
    case = SimpleNamespace(mask=mask, parts=(*words, durations, transitions), longest=longest)
    case.scores = [oracle.enumerate_scores(*_row(case.parts, row), mask[row]) for row in range(len(mask))]
    case.packed = _packed(case.parts, mask)
    return case


def _row(parts, row):
    return (*(part[row] for part in parts[:3]), *parts[3:])


def _packed(parts, mask):
    with dtype_policy("float64"):
        tensors = (ops.convert_to_tensor(part, "float64") for part in parts)
        return to_numpy(semi.pack_segments(SegmentPotentials(*tensors, ops.convert_to_tensor(mask))))


def _values(function, packed, mode):
    with dtype_policy("float64"):
        return outputs(function, packed, mode=mode)


def _segmentations(case):
    """A segmentation for each row, in place, and anything at masked positions."""
    rng = np.random.default_rng(0)
    chosen = [list(scores)[rng.integers(len(scores))] for scores in case.scores]
    placed = np.array([oracle.in_place(*pair) for pair in zip(chosen, case.mask)])
    return np.where(case.mask, placed, 77), chosen


def _segment_marginals(scores, mask, size, longest):
    found, places = np.zeros((len(mask), longest, size)), np.flatnonzero(mask)
    for segments, p in chain.probabilities(scores).items():
        for start, length, y in segments:
            found[places[start + length - 1], length - 1, y] += p
    return found


def _marginals(scores, mask, size):
    found, places = np.zeros((len(mask), size)), np.flatnonzero(mask)
    for segments, p in chain.probabilities(scores).items():
        for start, length, y in segments:
            found[places[start : start + length], y] += p
    return found


@pytest.mark.parametrize(("size", "longest"), SIZES)
def test_sums_and_marginals_are_those_of_all_segmentations(size, longest):
    case = _case(size, longest)
    segments, chosen = _segmentations(case)
    total = [chain.log_partition(scores) for scores in case.scores]
    rows = list(zip(case.scores, case.mask))
    for mode in MODES:
        (found,) = _values(lambda x: semi.semi_crf_log_partition(x, longest), case.packed, mode)
        np.testing.assert_allclose(found, total, **EXACT)
        (found,) = _values(lambda x: semi.semi_crf_log_likelihood(x, segments, longest), case.packed, mode)
        expected = [scores[y] - z for scores, y, z in zip(case.scores, chosen, total)]
        np.testing.assert_allclose(found, expected, **EXACT)
        (found,) = _values(lambda x: semi.semi_crf_marginals(x, longest), case.packed, mode)
        np.testing.assert_allclose(found, [_marginals(*row, size) for row in rows], **EXACT)
        (found,) = _values(lambda x: semi.semi_crf_segment_marginals(x, longest), case.packed, mode)
        np.testing.assert_allclose(found, [_segment_marginals(*row, size, longest) for row in rows], **EXACT)


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize(("size", "longest"), SIZES)
def test_k_best_are_the_best_of_all_segmentations(size, longest, k):
    case = _case(size, longest)
    for mode in MODES:
        paths, found = _values(lambda x: semi.semi_crf_k_best(x, k, longest), case.packed, mode)
        for row, (scores, mask) in enumerate(zip(case.scores, case.mask)):
            best = chain.k_best(scores, k)
            rest = k - len(best)
            np.testing.assert_allclose(found[row], [s for _, s in best] + rest * [-np.inf], **EXACT)
            placed = [oracle.in_place(y, mask) for y, _ in best] + rest * [np.full(TIME, -1)]
            np.testing.assert_array_equal(paths[row], placed)


def test_decoding_is_the_best():
    case = _case(2, 3)
    (paths,) = _values(lambda x: semi.semi_crf_k_best(x, 2, 3)[0], case.packed, MODES[-1])
    (found,) = _values(lambda x: semi.semi_crf_decode(x, 3), case.packed, MODES[-1])
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, paths[:, 0])


@pytest.mark.parametrize("name", ["log_likelihood", "marginals"])
def test_gradients_are_finite_differences(name):
    size, longest = 2, 3
    case = _case(size, longest)
    segments, chosen = _segmentations(case)
    function = {
        "log_likelihood": lambda x: semi.semi_crf_log_likelihood(x, segments, longest),
        "marginals": lambda x: semi.semi_crf_marginals(x, longest),
    }[name]
    weights = default_cotangent((len(case.mask),) if name == "log_likelihood" else (len(case.mask), TIME, size))
    expected = [np.zeros(part.shape) for part in case.parts]
    for row, mask in enumerate(case.mask):
        own = _row(case.parts, row)
        for index in range(5):

            def loss(x, row=row, mask=mask, own=own, index=index):
                scores = oracle.enumerate_scores(*own[:index], x, *own[index + 1 :], mask)
                if name == "marginals":
                    return np.sum(_marginals(scores, mask, size) * weights[row])
                return (scores[chosen[row]] - chain.log_partition(scores)) * weights[row]

            found = central_differences(loss, own[index])
            if index < 3:
                expected[index][row] = found
            else:
                expected[index] += found
    for mode in MODES:
        with dtype_policy("float64"):
            _, (gradient,) = gradients(function, case.packed, mode=mode)
        words, below = gradient[:, :TIME], gradient[:, TIME:, :size].sum(axis=0)
        found = [*(words[..., i * size : (i + 1) * size] for i in range(3)), below[size:], below[:size]]
        for part, difference, label in zip(found, expected, NAMES):
            np.testing.assert_allclose(part, difference, rtol=0, atol=1e-8, err_msg=label)


def test_long_sentences_and_strong_scores():
    rng = np.random.default_rng(0)
    unary = 30 * rng.normal(size=(1, 300, 3)).astype("float32")
    zeros, mask = np.zeros_like(unary), np.ones((1, 300), bool)
    transitions = rng.normal(size=(3, 3)).astype("float32")
    packed = to_numpy(semi.pack_segments(SegmentPotentials(*map(ops.convert_to_tensor, (
        unary, zeros, zeros, np.zeros((1, 3), "float32"), transitions, mask)))))  # fmt: skip
    (found,), (gradient,) = gradients(lambda x: semi.semi_crf_log_partition(x, 1), packed, mode=MODES[-1])
    # With segments of one word, it is a linear chain.
    np.testing.assert_allclose(
        found, [chain.recursive_log_partition(*map(np.float64, (unary[0], transitions)))], rtol=1e-6
    )
    np.testing.assert_allclose(gradient[0, :300, :3].sum(axis=1) / np.sin(1.0), 1, atol=1e-5)
    (best,) = outputs(lambda x: semi.semi_crf_decode(x, 1), packed, mode=MODES[-1])
    np.testing.assert_array_equal(best[0], chain.recursive_best(unary[0], transitions)[0])


@pytest.mark.parametrize(("time", "scale", "error"), [(1000, 1.0, 3e-6), (200, 20.0, 3e-5)])
def test_probabilities_are_as_accurate_in_long_sentences_as_in_short_ones(time, scale, error):
    rng = np.random.default_rng(0)
    mask = np.stack([np.ones(time, bool), rng.random(time) < 0.8])
    words = (np.where(mask[..., None], scale * rng.normal(size=(2, time, 3)), 0) for _ in range(3))
    packed = _packed((*words, rng.normal(size=(4, 3)), rng.normal(size=(3, 3))), mask).astype("float32")

    def results(dtype):
        x = packed.astype(dtype)
        with dtype_policy(dtype):
            return (
                *outputs(lambda x: semi.semi_crf_marginals(x, 4), x, mode=MODES[-1]),
                *outputs(lambda x: semi.semi_crf_segment_marginals(x, 4), x, mode=MODES[-1]),
                *gradients(lambda x: semi.semi_crf_log_partition(x, 4), x, mode=MODES[-1])[1],
            )

    for found, expected in zip(results("float32"), results("float64")):
        assert found.dtype == np.float32
        # Most counts are probabilities; the rows below the words add up those of all words.
        np.testing.assert_allclose(found, expected, rtol=error, atol=error)


@pytest.mark.parametrize("forbidden", [FORBIDDEN, -np.inf])
def test_no_segment_may_end_at_some_words(forbidden):
    """Segments of one word are forbidden, so that none ends at the first word, and another word ends none, either."""
    case = _case(2, 3)
    unary, begins, ends, durations, transitions = (part.copy() for part in case.parts)
    durations[0] = forbidden
    ends[:, 2] = forbidden
    parts = (unary, begins, ends, durations, transitions)
    # Sentences of 2 words, without a gap or with one, and of 3 and 4: all but the empty one without word 2.
    rows = [row for row, mask in enumerate(case.mask) if mask.sum() > 1 and (mask[3] or not mask[2])]
    packed = _packed(_row(parts, rows), case.mask[rows])
    (total,) = _values(lambda x: semi.semi_crf_log_partition(x, 3), packed, MODES[-1])
    (found,) = _values(lambda x: semi.semi_crf_marginals(x, 3), packed, MODES[-1])
    for index, row in enumerate(rows):
        scores = oracle.enumerate_scores(*_row(parts, row), case.mask[row])
        scores = {segments: score for segments, score in scores.items() if score > FORBIDDEN / 2}
        np.testing.assert_allclose(total[index], chain.log_partition(scores), **EXACT)
        np.testing.assert_allclose(found[index], _marginals(scores, case.mask[row], 2), **EXACT)


def test_bad_arguments_are_explained():
    case = _case(2, 3)
    segments, _ = _segmentations(case)
    with pytest.raises(ValueError, match=r"3 \* labels \+ 1\), with max_length=9, but got"):
        semi.semi_crf_decode(case.packed, 9)
    with pytest.raises(ValueError, match=r"\(batch, time\) = \(16, 4\), but got \(16, 3\)"):
        semi.semi_crf_log_likelihood(case.packed, segments[:, :3], 3)
    with pytest.raises(ValueError, match=r"\(batch, time\) = \(16, 4\), but got \(16, 4, 1\)"):
        semi.semi_crf_log_likelihood(case.packed, segments[:, :, None], 3)
    for wrong, message in ((2, "labels from 0 to 1 .* but got 2"), (-1, r"as at the first word, .* got -1")):
        segments[0, 0] = wrong
        with pytest.raises(ValueError, match=message):
            semi.semi_crf_log_likelihood(case.packed, segments, 3)
    for wrong in (0.5, 2.0**32):  # neither is cut to a label that exists
        with pytest.raises(ValueError, match=f"labels from 0 to 1 .* but got {wrong}"):
            semi.semi_crf_log_likelihood(case.packed, np.where(case.mask, wrong, 0), 3)
    segments[0] = [1, -1, -1, -1]  # longer than 3
    found = to_numpy(semi.semi_crf_log_likelihood(case.packed, segments, 3))
    assert -1.1e4 < found[0] < -9e3


@pytest.mark.parametrize("longest", [2, 4])
def test_the_largest_length_of_another_layer_is_refused(longest):
    """It would take words for transitions, or transitions for words."""
    case = _case(2, 3)
    with pytest.raises(ValueError, match=rf"max_length={longest}, which has the mask"):
        semi.semi_crf_decode(case.packed, longest)
    if BACKEND == "tensorflow":
        import tensorflow as tf

        with pytest.raises(tf.errors.InvalidArgumentError, match=f"max_length={longest}"):
            tf.function(semi.semi_crf_log_partition)(case.packed, longest)
    if BACKEND == "jax":
        import jax

        found = jax.jit(lambda x: semi.semi_crf_log_partition(x, longest))(case.packed)
        assert np.isnan(found[0])
