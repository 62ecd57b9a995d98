from __future__ import annotations

import itertools

import numpy as np
import pytest

from keras_slstm.ops.label_schemes import allowed_transitions

LABELS = {
    "BIO": ["O", "B-PER", "I-PER", "B-A-B", "I-A-B"],
    "BIOES": ["O", "B-PER", "I-PER", "E-PER", "S-PER", "B-A-B", "I-A-B", "E-A-B", "S-A-B"],
}


def _write(spans, length, scheme):
    """The labels of spans (first word, last word, type), which do not overlap."""
    labels = ["O"] * length
    for first, last, kind in spans:
        for t in range(first, last + 1):
            prefix = "B" if t == first else "I"
            if scheme == "BIOES" and t == last:
                prefix = "S" if t == first else "E"
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
def test_what_is_allowed_are_the_labels_of_spans(scheme):
    """Exactly the sequences that some set of spans has are allowed."""
    labels = LABELS[scheme]
    first, transitions, last = allowed_transitions(labels, scheme)
    for length in (1, 2, 3, 4):
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
        (["O"], "IOB1", r"`scheme` must be one of \('BIO', 'BIOES'\), but got 'IOB1'"),
        (["O", "E-PER"], "BIO", 'BIO expects labels "O", "B-...", "I-...", but got \'E-PER\''),
        (["O", "PER"], "BIOES", "but got 'PER'"),
        (["O", "B-"], "BIO", "but got 'B-'"),
        (["O", "O-PER"], "BIO", "but got 'O-PER'"),
        (["B-X", "E-X"], "BIOES", r"\['B-X', 'E-X'\], BIOES has no label for a sentence of one word"),
        (["I-X"], "BIO", "no label for a sentence of one word"),
        (["O", "B-X", "I-X", "I-Y"], "BIO", "No sequence .* that BIO allows has 'I-Y'"),
        (["O", "B-X", "S-X"], "BIOES", "No sequence .* that BIOES allows has 'B-X'"),
        (["O", "I-X", "E-X"], "BIOES", "has 'I-X', 'E-X'"),
    ],
)
def test_wrong_labels(labels, scheme, message):
    with pytest.raises(ValueError, match=message):
        allowed_transitions(labels, scheme)


def test_labels_without_spans_are_free():
    allowed = allowed_transitions(["O"], "BIO")
    assert all(np.all(one) for one in allowed)
