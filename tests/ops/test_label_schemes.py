from __future__ import annotations

import itertools

import numpy as np
import pytest

import keras_slstm
from keras_slstm.ops.label_schemes import Allowed, allowed_transitions, seen_transitions
from tests.backend import to_numpy

pytestmark = pytest.mark.short_run("torch")

LABELS = {
    "BIO": ["O", "B-PER", "I-PER", "B-A-B", "I-A-B"],
    "BIOES": ["O", "B-PER", "I-PER", "E-PER", "S-PER", "B-A-B", "I-A-B", "E-A-B", "S-A-B"],
    "BILOU": ["O", "B-PER", "I-PER", "L-PER", "U-PER", "B-A-B", "I-A-B", "L-A-B", "U-A-B"],
    "BMES": ["O", "B-PER", "M-PER", "E-PER", "S-PER", "B-A-B", "M-A-B", "E-A-B", "S-A-B"],
    "IOB1": ["O", "B-PER", "I-PER", "B-A-B", "I-A-B"],
}
# The letters of the first word of a span, those inside, the last, and an only one.
LETTERS = {"BIO": "BIIB", "BIOES": "BIES", "BILOU": "BILU", "BMES": "BMES", "IOB1": "IIII"}


def _write(spans, length, scheme):
    """The labels of spans (first word, last word, type), which do not overlap."""
    labels = ["O"] * length
    begin, inside, end, only = LETTERS[scheme]
    for first, last, kind in spans:
        for t in range(first, last + 1):
            prefix = begin if t == first else end if t == last else inside
            if first == last:
                prefix = only
            if scheme == "IOB1" and t == first and any(span[1:] == (t - 1, kind) for span in spans):
                prefix = "B"
            labels[t] = f"{prefix}-{kind}"
    return tuple(labels)


def _all_spans(length, start=0):
    """Every set of spans of two types in a sentence of that length."""
    yield ()
    for first in range(start, length):
        for last, kind in itertools.product(range(first, length), ("PER", "A-B")):
            for rest in _all_spans(length, last + 1):
                yield ((first, last, kind), *rest)


@pytest.mark.parametrize("scheme", LABELS)
def test_exactly_the_labels_of_spans_are_allowed(scheme):
    """Exactly the sequences that some set of spans has are allowed."""
    labels = LABELS[scheme]
    first, transitions, last = allowed_transitions(labels, scheme)
    for length in (1, 2, 3) if len(labels) > 5 else (1, 2, 3, 4):
        written = {_write(spans, length, scheme) for spans in _all_spans(length)}
        allowed = {
            tuple(labels[k] for k in y)
            for y in itertools.product(range(len(labels)), repeat=length)
            if first[y[0]] and last[y[-1]] and all(transitions[a, b] for a, b in itertools.pairwise(y))
        }
        assert allowed == written


@pytest.mark.parametrize(
    ("labels", "scheme", "message"),
    [
        (["O"], "BIOU", '"BIO", "BIOES", "BILOU" or "BMES", but got \'BIOU\''),
        (["O", "B-X", "<PAD>", "E-X", "PAD"], "BIOES", "but got 'PAD'"),
        (["O", "E-PER"], "BIO", 'BIO expects labels "O", "B-...", "I-...", but got \'E-PER\''),
        (["O", "PER"], "BIOES", "but got 'PER'"),
        (["O", "B-"], "BIO", "but got 'B-'"),
        (["O", "O-PER"], "BIO", "but got 'O-PER'"),
        (["B-X", "E-X"], "BIOES", r"\['B-X', 'E-X'\], BIOES has no label for a sentence of one word"),
        (["I-X"], "BIO", "no label for a sentence of one word"),
        (["O", "B-X"], "IOB1", "IOB1 allows no sequence .* with 'B-X'"),
        (["O", "B-X", "I-X", "I-Y"], "BIO", "BIO allows no sequence .* with 'I-Y'"),
        (["O", "B-X", "S-X"], "BIOES", "BIOES allows no sequence .* with 'B-X'"),
        (["O", "I-X", "E-X"], "BIOES", "with 'I-X', 'E-X'"),
    ],
)
def test_wrong_labels(labels, scheme, message):
    with pytest.raises(ValueError, match=message):
        allowed_transitions(labels, scheme)


def test_labels_without_spans_are_unrestricted():
    allowed = allowed_transitions(["O"], "BIO")
    assert all(np.all(one) for one in allowed)


def test_no_word_is_labelled_padding():
    allowed = allowed_transitions(["<PAD>", "O", "B-X", "I-X"], "BIO")
    rest = allowed_transitions(["O", "B-X", "I-X"], "BIO")
    for part, expected in zip(allowed, rest):
        np.testing.assert_array_equal(part[(slice(1, None),) * part.ndim], expected)
        assert not part[0].any()
    assert not allowed.transitions[:, 0].any()


def test_own_tables_and_functions():
    labels = ["DET", "NOUN", "VERB"]
    table = Allowed(np.array([1, 1, 0], bool), ~np.eye(3, dtype=bool), np.array([0, 1, 1], bool))

    def rule(before, after):
        if before is None:
            return after != "VERB"
        return before != after if after is not None else before != "DET"

    for scheme in (table, table._asdict(), {name: part.tolist() for name, part in table._asdict().items()}, rule):
        for found, expected in zip(allowed_transitions(labels, scheme), table):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=r"`transitions` of a scheme must be bool and of shape \(2, 2\)"):
        allowed_transitions(labels[:2], table._replace(first=table.first[:2]))
    with pytest.raises(ValueError, match="but got 3"):
        allowed_transitions(labels, 3)
    with pytest.raises(ValueError, match="has no label for a sentence of 2 words"):
        allowed_transitions(labels, table._replace(transitions=np.zeros((3, 3), bool)))


def test_seen_transitions_of_data():
    labels = ["A", "B", "C"]
    data = [["A", "B", "B"], ["B", "A"], [], ["C"]]
    seen = [("A", "B"), ("B", "B"), ("B", "A")]
    expected = np.array([[(one, other) in seen for other in labels] for one in labels])
    free, learnt = seen_transitions(data, labels), seen_transitions(data, labels, ends=True)
    np.testing.assert_array_equal(free.transitions, expected)
    np.testing.assert_array_equal(learnt.transitions, expected)
    assert free.first.all()
    assert free.last.all()
    np.testing.assert_array_equal(learnt.first, [True, True, True])
    np.testing.assert_array_equal(seen_transitions(data[:2], labels, ends=True).last, [True, True, False])
    with pytest.raises(ValueError, match="Unknown label 'D'"):
        seen_transitions([["D"]], labels)


def test_a_crf_obeys_its_own_table_and_keeps_it():
    labels = ["A", "B", "C"]
    layer = keras_slstm.CRF(labels=labels, scheme=lambda before, after: before != after, use_kernel=False)
    again = keras_slstm.CRF.from_config(layer.get_config())
    scores = np.random.default_rng(0).normal(size=(4, 9, 3)) + [5, 0, 0]
    for crf in (layer, again, keras_slstm.CRF(3, scheme=again.scheme, use_kernel=False)):
        found = to_numpy(keras_slstm.crf_decode(crf(scores)))
        assert np.all(found[:, 1:] != found[:, :-1])
    with pytest.raises(ValueError, match="Pass the label names"):
        keras_slstm.CRF(3, scheme="BIO")


def test_padding_is_never_seen():
    seen = seen_transitions([["O", "B", "<PAD>", "<PAD>"], ["B"]], ["<PAD>", "O", "B"])
    np.testing.assert_array_equal(seen.first, [False, True, True])
    np.testing.assert_array_equal(seen.last, [False, True, True])
    np.testing.assert_array_equal(seen.transitions, [[False] * 3, [False, False, True], [False] * 3])
    ends = seen_transitions([["O", "B", "<PAD>"]], ["<PAD>", "O", "B"], ends=True)
    np.testing.assert_array_equal([ends.first, ends.last], [[False, True, False], [False, False, True]])
