import itertools
import pickle
import random

import pytest

from keras_slstm.text.tag_schemes import (
    SCHEMES,
    Span,
    TagError,
    check_tags,
    convert_tags,
    detect_scheme,
    scheme_labels,
    span_scores,
    spans_to_tags,
    tags_to_spans,
)

# One sentence in all schemes: two persons side by side, then a place of three words.
SPANS = [Span("PER", 0, 2), Span("PER", 2, 3), Span("LOC", 3, 6)]
TAGS = {
    "IOB1": "I-PER I-PER B-PER I-LOC I-LOC I-LOC O",
    "BIO": "B-PER I-PER B-PER B-LOC I-LOC I-LOC O",
    "BIOES": "B-PER E-PER S-PER B-LOC I-LOC E-LOC O",
    "BILOU": "B-PER L-PER U-PER B-LOC I-LOC L-LOC O",
    "BMES": "B-PER E-PER S-PER B-LOC M-LOC E-LOC O",
}


def all_segmentations(length, types=("X", "Y")):
    """Every way to mark spans in a sentence of `length` words."""
    if length == 0:
        yield []
        return
    for rest in all_segmentations(length - 1, types):
        yield [Span(kind, start + 1, end + 1) for kind, start, end in rest]
    for size in range(1, length + 1):
        for rest in all_segmentations(length - size, types):
            for kind in types:
                yield [Span(kind, 0, size), *(Span(k, start + size, end + size) for k, start, end in rest)]


@pytest.mark.parametrize("scheme", TAGS)
def test_the_schemes(scheme):
    tags = TAGS[scheme].split()
    assert tags_to_spans(tags, scheme) == SPANS
    assert spans_to_tags(SPANS, len(tags), scheme) == tags
    for target, expected in TAGS.items():
        assert convert_tags(tags, scheme, target) == expected.split()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_marking_survives_and_no_other_tags_are_valid(scheme):
    """The tags of all markings are exactly the valid tag sequences."""
    for length in range(4):
        markings = list(all_segmentations(length))
        written = {tuple(spans_to_tags(spans, length, scheme)) for spans in markings}
        assert len(written) == len(markings)
        for spans in markings:
            assert tags_to_spans(spans_to_tags(spans, length, scheme), scheme) == spans
        for tags in itertools.product(scheme_labels("XY", scheme), repeat=length):
            try:
                check_tags(tags, scheme)
            except TagError:
                assert tags not in written
            else:
                assert tags in written or scheme == "IOB1"  # where a superfluous `B-` does no harm
                assert tags_to_spans(tags, scheme) in markings


@pytest.mark.parametrize(
    ("scheme", "tags", "position", "problem"),
    [
        ("BIO", "O I-PER", 1, '"I-PER" continues a span, but the tag before it is "O"'),
        ("BIO", "I-PER", 0, 'the tag before it is "O"'),
        ("BIO", "B-PER I-LOC", 1, 'the tag before it is "B-PER"'),
        ("IOB1", "O E-PER", 1, '"E-PER" is not a tag of IOB1'),
        ("BIOES", "B-PER O", 1, '"B-PER" before it is not the last word of its span'),
        ("BIOES", "B-PER", 0, "the sentence ends"),
        ("BIOES", "B-PER E-LOC", 1, '"E-LOC" continues a span'),
        ("BIOES", "S-PER I-PER", 1, '"I-PER" continues a span'),
        ("BIO", "O S-PER", 1, '"S-PER" is not a tag of BIO: expected O, or B-, I- followed by a type'),
        ("BIOES", "O PER", 1, '"PER" is not a tag of BIOES'),
        ("BIO", "B-", 0, '"B-" is not a tag'),
        ("BIO", "o", 0, '"o" is not a tag'),
    ],
)
def test_what_is_invalid_is_named_with_its_position(scheme, tags, position, problem):
    with pytest.raises(TagError) as raised:
        check_tags(tags.split(), scheme)
    assert raised.value.position == position
    assert problem in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_type_may_hold_a_hyphen():
    assert tags_to_spans(["B-a-b", "I-a-b", "B-a"], "BIO") == [Span("a-b", 0, 2), Span("a", 2, 3)]


@pytest.mark.parametrize(
    ("scheme", "tags", "spans"),
    [
        ("BIO", "I-X I-X B-X I-Y I-Y", [Span("X", 2, 3)]),
        ("BIOES", "B-X I-X O I-X E-X", []),
        ("BIOES", "B-X B-X E-X E-X", [Span("X", 1, 3)]),
        ("BIOES", "B-X E-Y S-X I-X", [Span("X", 2, 3)]),
        ("IOB1", "B-X I-X", [Span("X", 0, 2)]),
    ],
)
def test_spans_of_invalid_predicted_tags(scheme, tags, spans):
    assert tags_to_spans(tags.split(), scheme) == spans


@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
def test_spans_and_scores_are_those_of_seqeval(scheme):
    """Strict evaluation, for every pair of random tag sequences, valid or not."""
    scheme_module = pytest.importorskip("seqeval.scheme")
    from seqeval.metrics.v1 import precision_recall_fscore_support

    dice = random.Random(0)
    labels = scheme_labels(["X", "Y"], scheme)
    true, predicted = ([[dice.choice(labels) for _ in range(6)] for _ in range(300)] for _ in range(2))
    theirs = {"BIO": scheme_module.IOB2, "BIOES": scheme_module.IOBES}[scheme]
    for tags in true:
        entities = scheme_module.Entities([tags], theirs).entities[0]
        assert tags_to_spans(tags, scheme) == [Span(e.tag, e.start, e.end) for e in entities]
    expected = precision_recall_fscore_support(true, predicted, average="micro", scheme=theirs)
    assert span_scores(true, predicted, scheme) == pytest.approx(expected[:3])


def test_scores_without_spans():
    assert span_scores([["O"]], [["O"]], "BIO") == (0.0, 0.0, 0.0)
    assert span_scores([["O"]], [["B-X"]], "BIO") == (0.0, 0.0, 0.0)


def test_the_scheme_is_detected_from_the_tags():
    for scheme, tags in TAGS.items():
        assert detect_scheme([["O"], tags.split()]) == scheme
    assert detect_scheme([["O", "O"]]) == "BIO"
    assert detect_scheme([["I-X", "O", "I-X"], ["O", "B-X"]]) == "IOB1"  # as in CoNLL-2003
    one_fault = [["B-X", "O", "B-X"], ["O", "I-X"], ["B-X", "I-X"]]
    assert detect_scheme(one_fault) == "BIO"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("wrong", ["S-LOC", "E-LOC", "U-LOC", "M-LOC", "I-LOC", "LOC", ""])
def test_one_wrong_tag_does_not_change_the_scheme(scheme, wrong):
    right = [TAGS[scheme].split()] * 3
    assert detect_scheme([*right, [wrong]]) == scheme
    assert detect_scheme([[wrong], *right]) == scheme


def test_if_as_many_sentences_violate_either_scheme_its_own_letters_decide():
    assert detect_scheme([["B-X", "O"], ["S-X"]]) == "BIOES"


def test_spans_must_lie_in_the_sentence():
    for spans in ([Span("X", 1, 1)], [Span("X", 0, 3)], [Span("X", 0, 2), Span("Y", 1, 2)], [Span("X", -1, 1)]):
        with pytest.raises(ValueError, match="is empty, overlaps another span, or is not within 2 words"):
            spans_to_tags(spans, 2, "BIO")


def test_unknown_scheme():
    for call in (
        lambda: check_tags(["O"], "XYZ"),
        lambda: spans_to_tags([], 1, "XYZ"),
        lambda: scheme_labels(["X"], "XYZ"),
        lambda: tags_to_spans(["O"], "XYZ"),
    ):
        with pytest.raises(ValueError, match=r"Unknown tag scheme 'XYZ'\. Known schemes: IOB1, BIO, BIOES"):
            call()
