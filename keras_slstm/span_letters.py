"""The tag letters of the span labelling schemes."""

from __future__ import annotations

from typing import NamedTuple


class Letters(NamedTuple):
    """The letters of the only, the first, an inside, and the last word of a span."""

    only: str
    first: str
    inside: str
    last: str

    def continues(self, letter: str) -> bool:
        """Whether the letter must follow another word of its span."""
        return letter in (self.inside, self.last)

    def may_continue(self, letter: str) -> bool:
        """Whether the span may continue after the letter."""
        return letter in (self.first, self.inside)

    def must_continue(self, letter: str) -> bool:
        """Whether the span must continue after the letter."""
        return letter == self.first != self.only or letter == self.inside != self.last


# IOB1 also uses `B`, for the first word of a span that directly follows another span of its type.
SCHEMES = {
    "IOB1": Letters("I", "I", "I", "I"),
    "BIO": Letters("B", "B", "I", "I"),
    "BIOES": Letters("S", "B", "I", "E"),
    "BILOU": Letters("U", "B", "I", "L"),
    "BMES": Letters("S", "B", "M", "E"),
}
