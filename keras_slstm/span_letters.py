"""The letters of tags that mark spans of words, in every scheme."""

from __future__ import annotations

from typing import NamedTuple


class Letters(NamedTuple):
    """The letters of a span's words: of a single word, of the first, of those inside, and of the last."""

    only: str
    first: str
    inside: str
    last: str

    def continues(self, letter: str) -> bool:
        """Whether the letter needs a word of its span before it."""
        return letter in (self.inside, self.last)

    def may_go_on(self, letter: str) -> bool:
        """Whether the span may go on behind the letter."""
        return letter in (self.first, self.inside)

    def has_to_go_on(self, letter: str) -> bool:
        """Whether the span has to go on behind the letter."""
        return letter == self.first != self.only or letter == self.inside != self.last


# In IOB1, `B` stands on the first word of a span, too, where a span of its type ends directly before it.
SCHEMES = {
    "IOB1": Letters("I", "I", "I", "I"),
    "BIO": Letters("B", "B", "I", "I"),
    "BIOES": Letters("S", "B", "I", "E"),
    "BILOU": Letters("U", "B", "I", "L"),
    "BMES": Letters("S", "B", "M", "E"),
}
