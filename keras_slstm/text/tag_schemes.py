"""Tag schemes for spans of words (entities, slots), and conversion between them.

A tag is `O` (in no span) or a letter, a hyphen and the type of a span, `B-PER`:

- `"BIO"` (also called IOB2): `B-` on the first word of every span, `I-` on its others.
- `"BIOES"`: `S-` on a span of one word; otherwise `B-` on the first, `E-` on the last, `I-` on words between.
- `"BILOU"`: the same with `U-` for `S-`, and `L-` for `E-`. `"BMES"`: the same with `M-` for `I-`.
- `"IOB1"` (the original CoNLL-2003 files): `I-` on all words of a span, but `B-` on the first word if the preceding
  span has the same type and ends directly before it. A `B-` elsewhere, of which those files have two, also begins a
  span.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from keras_slstm import span_letters
from keras_slstm.suggestions import did_you_mean

# The schemes and the letters of their tags.
SCHEMES: dict[str, str] = {"IOB1": "BI", "BIO": "BI", "BIOES": "BIES", "BILOU": "BILU", "BMES": "BMES"}
# The letters that give a scheme away, in the order in which they do.
_OWN_LETTERS: dict[str, set[str]] = {"BILOU": {"L-", "U-"}, "BMES": {"M-"}, "BIOES": {"E-", "S-"}}


class Span(NamedTuple):
    """The words from `start` to `end - 1` of a sentence, and their type."""

    type: str
    start: int
    end: int


class TagError(ValueError):
    """A tag that its scheme does not have, or does not allow at its position.

    Args:
        position: Index of the word.
        problem: What is wrong with the tag, and what was expected.
    """

    def __init__(self, position: int, problem: str):
        super().__init__(f"word {position}: {problem}")
        self.position = position
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.position, self.problem)


def check_tags(tags: Sequence[str], scheme: str) -> None:
    """Raise `TagError` at the first tag that the scheme does not allow at its position.

    >>> check_tags(["O", "I-PER"], "BIO")
    Traceback (most recent call last):
    keras_slstm.text.tag_schemes.TagError: word 1: "I-PER" continues a span, but the tag before it is "O" (BIO)
    """
    _check_scheme(scheme)
    before = "O"
    for position, tag in enumerate(tags):
        split_tag(tag, scheme, position)
        problem = _problem(before, tag, scheme)
        if problem:
            raise TagError(position, f"{problem} ({scheme})")
        before = tag
    if span_letters.SCHEMES[scheme].must_continue(before[0]):
        raise TagError(len(tags) - 1, f'"{before}" is not the last word of its span, but the sentence ends ({scheme})')


def tags_to_spans(tags: Sequence[str], scheme: str) -> list[Span]:
    """The spans that the tags encode, from left to right.

    Predicted tags may be inconsistent. Words whose tags violate the scheme form no span, such as an `I-` (BIO) without
    a preceding span of its type, or a `B-` (BIOES) without its `E-`.

    >>> tags_to_spans(["B-PER", "I-PER", "O", "B-LOC"], "BIO")
    [Span(type='PER', start=0, end=2), Span(type='LOC', start=3, end=4)]
    """
    _check_scheme(scheme)
    letters = span_letters.SCHEMES[scheme]
    marks_end = letters.inside != letters.last  # then a span ends only at the letter of its last word
    spans: list[Span] = []
    start: int | None = None  # of the span of the preceding word
    before = ("O", "")
    for position, tag in enumerate(tags):
        letter, kind = split_tag(tag, scheme, position)
        continues_span = start is not None and kind == before[1] and letters.continues(letter)
        if start is not None and not continues_span:
            if not marks_end:
                spans.append(Span(before[1], start, position))
            start = None
        if letter == "B" or (letter == letters.first and not continues_span):
            start = position
        if marks_end and letter == letters.only:
            spans.append(Span(kind, position, position + 1))
        elif marks_end and letter == letters.last and start is not None:
            spans.append(Span(kind, start, position + 1))
            start = None
        before = (letter, kind)
    if start is not None and not marks_end:
        spans.append(Span(before[1], start, len(tags)))
    return spans


def spans_to_tags(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """The tags of a sentence of `length` words with these spans.

    Raises:
        ValueError: If a span is empty, extends beyond the sentence, or overlaps another.

    >>> spans_to_tags([Span("PER", 0, 2), Span("PER", 2, 3)], 4, "IOB1")
    ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    _check_scheme(scheme)
    tags = ["O"] * length
    before: Span | None = None
    for span in sorted(spans, key=lambda span: span.start):
        kind, start, end = span
        if not (before.end if before else 0) <= start < end <= length:
            raise ValueError(f"{span} is empty, overlaps another span, or is not within {length} words.")
        is_adjacent = before is not None and (before.type, before.end) == (kind, start)
        only, first, inside, last = span_letters.SCHEMES[scheme]
        letters = [only] if end - start == 1 else [first, *[inside] * (end - start - 2), last]
        if is_adjacent and scheme == "IOB1":
            letters[0] = "B"
        tags[start:end] = [f"{letter}-{kind}" for letter in letters]
        before = span
    return tags


def convert_tags(tags: Sequence[str], source: str, target: str) -> list[str]:
    """Rewrite tags in another scheme; the spans stay the same.

    Raises:
        TagError: If the tags are not valid in the scheme `source`.

    >>> convert_tags(["I-PER", "I-PER", "B-PER", "O"], "IOB1", "BIOES")
    ['B-PER', 'E-PER', 'S-PER', 'O']
    """
    check_tags(tags, source)
    return spans_to_tags(tags_to_spans(tags, source), len(tags), target)


def detect_scheme(sentences: Iterable[Sequence[str]]) -> str:
    """Guess the scheme of the tags: the one that the fewest sentences violate, because data may contain errors.

    BILOU, BMES and BIOES are considered if one of their own letters occurs. BIO and IOB1 have the same letters, and are
    told apart by the number of words that violate them. Without any span, it is BIO.
    """
    letters: set[str] = set()
    breaks: Counter[str] = Counter()
    violations: Counter[str] = Counter()
    violated_by: dict[tuple[str, str], set[str]] = {}  # schemes that a tag after another one violates
    for tags in sentences:
        violated: set[str] = set()
        for step in zip(("O", *tags), (*tags, "O")):  # a sentence ends as if it continued with `O`
            if step not in violated_by:
                violated_by[step] = {scheme for scheme in SCHEMES if not _may_follow(*step, scheme)}
            violated |= violated_by[step]
            before, tag = step
            letters.add(tag[:2])
            inside = _is_inside(before, tag, span_letters.SCHEMES["BIO"])
            breaks["BIO"] += tag[:2] == "I-" and not inside
            breaks["IOB1"] += tag[:2] == "B-" and not inside
        violations.update(violated)
    candidates = [scheme for scheme, own in _OWN_LETTERS.items() if letters & own]
    candidates.append("IOB1" if breaks["IOB1"] < breaks["BIO"] else "BIO")
    return min(candidates, key=lambda scheme: violations[scheme])  # of equals, the first


def scheme_labels(types: Iterable[str], scheme: str) -> list[str]:
    """All tags of a scheme for these span types: `O`, then the others by type.

    >>> scheme_labels(["PER", "LOC"], "BIO")
    ['O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER']
    """
    _check_scheme(scheme)
    return ["O", *(f"{letter}-{kind}" for kind in sorted(set(types)) for letter in SCHEMES[scheme])]


def split_tag(tag: str, scheme: str, position: int = 0) -> tuple[str, str]:
    """The letter and the type of a tag; the type of `O` is empty.

    Raises:
        TagError: If the scheme has no such tag; it carries `position`.
    """
    _check_scheme(scheme)
    letter, kind = tag[:1], tag[2:]
    if _is_tag(tag, scheme):
        return letter, kind
    letters = ", ".join(f"{letter}-" for letter in SCHEMES[scheme])
    raise TagError(position, f'"{tag}" is not a tag of {scheme}: expected O, or {letters} followed by a type')


def span_scores(
    true: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]], scheme: str
) -> tuple[float, float, float]:
    """Precision, recall and F1 of the predicted spans over all sentences; type and words must match exactly.

    >>> span_scores([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]], "BIO")
    (0.5, 1.0, 0.6666666666666666)
    """
    right = wanted = found = 0
    for truth, guess in zip(true, predicted, strict=True):
        spans, guesses = set(tags_to_spans(truth, scheme)), set(tags_to_spans(guess, scheme))
        right, wanted, found = right + len(spans & guesses), wanted + len(spans), found + len(guesses)
    precision, recall = right / max(found, 1), right / max(wanted, 1)
    return precision, recall, 2 * right / max(wanted + found, 1)


def _problem(before: str, tag: str, scheme: str) -> str | None:
    """The reason why `tag` may not follow `before` (`O` at the beginning of a sentence); None if it may."""
    letter, letters = tag[0], span_letters.SCHEMES[scheme]
    if scheme != "IOB1" and letters.continues(letter) and not _is_inside(before, tag, letters):
        return f'"{tag}" continues a span, but the tag before it is "{before}"'
    if letters.must_continue(before[:1]) and not letters.continues(letter):
        return f'"{before}" before it is not the last word of its span, but "{tag}" does not continue that span'
    return None


def _may_follow(before: str, tag: str, scheme: str) -> bool:
    """Whether the scheme has the tag, and allows it after `before`, whose own place is not checked."""
    return _is_tag(tag, scheme) and _problem(before, tag, scheme) is None


def _is_tag(tag: str, scheme: str) -> bool:
    """Whether the tag is `O`, or a letter of the scheme, a hyphen and a type."""
    return tag == "O" or (tag[1:2] == "-" and bool(tag[2:]) and tag[0] in SCHEMES[scheme])


def _is_inside(before: str, tag: str, letters: span_letters.Letters) -> bool:
    """Whether `tag` may continue the span of the preceding tag `before`."""
    return letters.may_continue(before[:1]) and before[2:] == tag[2:]


def _check_scheme(scheme: str) -> None:
    if scheme not in SCHEMES:
        known = f"Known schemes: {', '.join(SCHEMES)}.{did_you_mean(scheme, SCHEMES)}"
        raise ValueError(f"Unknown tag scheme {scheme!r}. {known}")
