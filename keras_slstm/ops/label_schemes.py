"""The labels that may begin a sentence, follow each other, and end it, from their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SCHEMES = ("BIO", "BIOES")
# The prefixes of words that continue a span, and of those whose span has to go on.
_CONTINUES = {"BIO": "I", "BIOES": "IE"}
_GOES_ON = {"BIO": "", "BIOES": "BI"}


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


def allowed_transitions(labels: Sequence[str], scheme: str) -> Allowed:
    """The labels and transitions that a scheme allows.

    Args:
        labels: Label names: `O`, and `B-PER`, `I-PER`, ... The type is what follows the first hyphen.
        scheme: `"BIO"` (also known as IOB2: a span begins with B, its other words are I) or `"BIOES"` (the last word
            of a span is E, and a span of one word is S).

    Returns:
        Three bool arrays.

    Raises:
        ValueError: If the scheme does not exist, a label does not belong to it or is part of no allowed sequence (I-X
            without B-X), or no label may stand alone, so that a sentence of one word could have none.

    Example:

    ```python
    allowed_transitions(["O", "B-PER", "I-PER"], "BIO").first  # [True, True, False]
    ```
    """
    if scheme not in SCHEMES:
        raise ValueError(f"`scheme` must be one of {SCHEMES}, but got {scheme!r}.")
    words = [_parse(label, scheme) for label in labels]
    continues, goes_on = _CONTINUES[scheme], _GOES_ON[scheme]

    def follows(before: tuple[str, str], after: tuple[str, str]) -> bool:
        if after[0] in continues:
            return before[0] in "BI" and before[1] == after[1]
        return before[0] not in goes_on

    allowed = Allowed(
        np.array([word[0] not in continues for word in words], bool),
        np.array([[follows(before, after) for after in words] for before in words], bool),
        np.array([word[0] not in goes_on for word in words], bool),
    )
    if not np.any(allowed.first & allowed.last):
        raise ValueError(f"With the labels {list(labels)}, {scheme} has no label for a sentence of one word.")
    useless = [repr(label) for label, useful in zip(labels, _useful(allowed)) if not useful]
    if useless:
        raise ValueError(
            f"No sequence of the labels {list(labels)} that {scheme} allows has {', '.join(useless)}: add the labels "
            "that belong to the same span, such as B-..., or remove it."
        )
    return allowed


def _useful(allowed: Allowed) -> np.ndarray:
    """`(labels,)` bool, whether a label is part of an allowed sequence."""
    begun, ended = allowed.first, allowed.last
    for _ in allowed.first:  # a sequence that visits no label twice has at most that many transitions
        begun = begun | (begun @ allowed.transitions)
        ended = ended | (allowed.transitions @ ended)
    return begun & ended


def _parse(label: str, scheme: str) -> tuple[str, str]:
    """The prefix and the type of a label."""
    prefix, hyphen, kind = label.partition("-")
    if label != "O" and not (prefix in tuple(scheme.replace("O", "")) and hyphen and kind):
        prefixes = ", ".join(f'"{letter}-..."' for letter in scheme if letter != "O")
        raise ValueError(f'{scheme} expects labels "O", {prefixes}, but got {label!r}.')
    return prefix, kind
