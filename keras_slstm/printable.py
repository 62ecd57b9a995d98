"""Makes text from data safe for terminals and reports."""

from __future__ import annotations

import unicodedata

_DIRECTIONS = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def printable(text: str) -> str:
    r"""Escape line breaks, tabs and other control characters, so that the text fits on one line.

    Lone surrogates, which terminals reject, and marks that change the writing direction are escaped, too.

    >>> print(printable("two\nlines"))
    two\nlines
    """
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if char in _DIRECTIONS or unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
        else char
        for char in text
    )
