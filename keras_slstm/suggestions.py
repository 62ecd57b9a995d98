"""Names in error messages: lists of known names, and suggestions for misspelt ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST_LIST = 20  # names in a message


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a sentence that suggests the known name most similar to `name`, to append to an error message.

    The comparison ignores case.

    Args:
        name: The unknown name.
        known: The known names.

    Returns:
        `' Did you mean "..."?'`, or `""` if no known name is similar.

    >>> did_you_mean("movie_reviews", ["movie_review", "trec"])
    ' Did you mean "movie_review"?'
    """
    names = {each.lower(): each for each in known}
    close = difflib.get_close_matches(str(name).lower(), names, n=1)
    return f' Did you mean "{names[close[0]]}"?' if close else ""


def list_names(names: Iterable[str]) -> str:
    """Return names in quotation marks, separated by commas; a long list is truncated.

    >>> list_names(["text", "label"])
    '"text", "label"'
    """
    quoted = [f'"{name[:40]}"' for name in names]
    rest = f" and {len(quoted) - LONGEST_LIST} more" if len(quoted) > LONGEST_LIST else ""
    return ", ".join(quoted[:LONGEST_LIST]) + rest or "none"
