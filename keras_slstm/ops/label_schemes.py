"""Label schemes: which labels may begin a sentence, follow each other, and end a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_slstm.span_letters import SCHEMES
from keras_slstm.validation import check_choice

# The padding label, which some libraries count among the labels. No word ever has it.
PADDING = "<PAD>"
Rule = Callable[[str | None, str | None], bool]


class Allowed(NamedTuple):
    """The labels and transitions that a scheme allows, as bool arrays.

    Attributes:
        first: `(labels,)`, whether a label may begin a sentence.
        transitions: `(labels, labels)`, [from, to], whether a label may follow another.
        last: `(labels,)`, whether a label may end a sentence.
    """

    first: np.ndarray
    transitions: np.ndarray
    last: np.ndarray


def allowed_transitions(labels: Sequence[str], scheme: str | Allowed | Mapping[str, Any] | Rule) -> Allowed:
    """Return the labels and transitions that a scheme allows.

    Args:
        labels: Label names: `O`, and `B-PER`, `I-PER`, ... The type follows the first hyphen. Named schemes allow a
            label `<PAD>` nowhere: padding is masked and has no label.
        scheme: `"BIO"` (also known as IOB2: a span begins with B, its other words are I), `"BIOES"` (the last word of a
            span is E, and a span of one word is S), `"BILOU"` (the same with L and U), `"BMES"` (with M for I) or
            `"IOB1"` (words of a span are I; B begins a span directly after another one of its type). Or a table:
            `Allowed`, or a dict of its attributes. Or a function `f(before, after) -> bool` of label names, called with
            None for the beginning and the end of a sentence.

    Returns:
        Three bool arrays.

    Raises:
        ValueError: If the scheme does not exist, a label does not belong to it or is part of no allowed sequence (I-X
            without B-X), a table has the wrong shape, or no sequence of some length is allowed.

    Example:

    ```python
    allowed_transitions(["O", "B-PER", "I-PER"], "BIO").first  # [True, True, False]
    ```
    """
    if isinstance(scheme, str):
        allowed, name = _of_scheme(labels, scheme), scheme
    else:
        allowed, name = _of_rule(labels, scheme) if callable(scheme) else _of_table(len(labels), scheme), "the table"
    reached = allowed.first
    for length in range(1, 2 * len(labels) + 1):
        if not np.any(reached & allowed.last):
            words = "one word" if length == 1 else f"{length} words"
            raise ValueError(f"With the labels {list(labels)}, {name} has no label for a sentence of {words}.")
        reached = reached @ allowed.transitions
    if isinstance(scheme, str):
        useless = [repr(y) for y, useful in zip(labels, _useful(allowed)) if not useful and y != PADDING]
        if useless:
            raise ValueError(
                f"{scheme} allows no sequence of the labels {list(labels)} with {', '.join(useless)}. Add the other "
                "labels of the span, such as B-..., or remove the unusable ones."
            )
    return allowed


def seen_transitions(sequences: Iterable[Sequence[str]], labels: Sequence[str], ends: bool = False) -> Allowed:
    """Collect the transitions that occur in data. As the `scheme` of a `CRF`, they forbid all others.

    Args:
        sequences: The label names of the words of each sentence. A label `<PAD>` is skipped.
        labels: All label names. A label `<PAD>` is allowed nowhere: padding is masked and has no label.
        ends: Whether to allow only labels at the beginning and the end of a sentence that were seen there.

    Returns:
        Three bool arrays.

    Raises:
        ValueError: If a label name is unknown.

    Example:

    ```python
    scheme = seen_transitions([["DET", "NOUN"], ["NOUN", "VERB", "NOUN"]], ["DET", "NOUN", "VERB"])
    ```
    """
    numbers = {label: number for number, label in enumerate(labels)}
    size = len(labels)
    usable = np.array([label != PADDING for label in labels], bool)
    seen = Allowed(usable & (not ends), np.zeros((size, size), bool), usable & (not ends))
    for names in sequences:
        unknown = [name for name in names if name not in numbers]
        if unknown:
            raise ValueError(f"Unknown label {unknown[0]!r}. Known labels: {', '.join(labels)}.")
        ids = [numbers[name] for name in names if name != PADDING]
        seen.transitions[ids[:-1], ids[1:]] = True
        seen.first[ids[:1]] = True
        seen.last[ids[-1:]] = True
    return seen


def as_table(allowed: Allowed) -> dict[str, list[Any]]:
    """Convert to a dict of lists for a config, from which `allowed_transitions` restores the arrays."""
    return {name: part.tolist() for name, part in allowed._asdict().items()}


def without_ends(transitions: np.ndarray) -> Allowed:
    """Split a matrix `(K + 2, K + 2)`, whose last two labels are the beginning and the end of a sentence."""
    return Allowed(transitions[-2, :-2], transitions[:-2, :-2], transitions[:-2, -1])


def _of_scheme(labels: Sequence[str], scheme: str) -> Allowed:
    letters = SCHEMES[check_choice("scheme", scheme, tuple(SCHEMES))]
    words = [("", "") if label == PADDING else _parse(label, scheme) for label in labels]

    def follows(before: tuple[str, str], after: tuple[str, str]) -> bool:
        if scheme == "IOB1":
            return after[0] != "B" or before[1] == after[1]
        if letters.continues(after[0]):
            return letters.may_continue(before[0]) and before[1] == after[1]
        return not letters.must_continue(before[0])

    nothing = ("O", "")
    usable = np.array([label != PADDING for label in labels], bool)
    return Allowed(
        usable & np.array([follows(nothing, word) for word in words], bool),
        usable & usable[:, None] & np.array([[follows(before, after) for after in words] for before in words], bool),
        usable & np.array([not letters.must_continue(word[0]) for word in words], bool),
    )


def _of_table(size: int, table: Any) -> Allowed:
    if isinstance(table, Mapping) and set(table) == set(Allowed._fields):
        table = Allowed(**table)
    if not isinstance(table, Allowed):
        raise ValueError(
            f"`scheme` must be one of {tuple(SCHEMES)}, a dict of {', '.join(Allowed._fields)}, or a function of two "
            f"label names, but got {table!r}."
        )
    found = Allowed(*(np.asarray(part) for part in table))
    for name, part, shape in zip(Allowed._fields, found, ((size,), (size, size), (size,))):
        if part.shape != shape or part.dtype != bool:
            raise ValueError(
                f"`{name}` of a scheme must be bool and of shape {shape}, but is {part.dtype} of shape {part.shape}."
            )
    return found


def _of_rule(labels: Sequence[str], rule: Rule) -> Allowed:
    return Allowed(
        np.array([bool(rule(None, after)) for after in labels], bool),
        np.array([[bool(rule(before, after)) for after in labels] for before in labels], bool),
        np.array([bool(rule(before, None)) for before in labels], bool),
    )


def _useful(allowed: Allowed) -> np.ndarray:
    """`(labels,)` bool, whether a label is part of an allowed sequence."""
    begun, ended = allowed.first, allowed.last
    for _ in allowed.first:  # a sequence without repeated labels has at most this many transitions
        begun = begun | (begun @ allowed.transitions)
        ended = ended | (allowed.transitions @ ended)
    return begun & ended


def _parse(label: str, scheme: str) -> tuple[str, str]:
    """The prefix and the type of a label."""
    prefix, hyphen, kind = label.partition("-")
    letters = sorted({*SCHEMES[scheme], *("B" if scheme == "IOB1" else "")})
    if label != "O" and not (prefix in letters and hyphen and kind):
        prefixes = ", ".join(f'"{letter}-..."' for letter in letters)
        raise ValueError(f'{scheme} expects labels "O", {prefixes}, but got {label!r}.')
    return prefix, kind
