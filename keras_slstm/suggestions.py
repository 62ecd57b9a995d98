"""Names in error messages: lists of known names, and suggestions for misspelt ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST_LIST = 20  # names in a message


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a sentence that suggests the known name most like `name`, to be put behind an error message.

    Upper and lower case count as alike.

    Args:
        name: The name that is not known.
        known: The names that are.

    Returns:
        `' Did you mean "..."?'`, or `""` if no known name is similar.

    >>> did_you_mean("movie_reviews", ["movie_review", "trec"])
    ' Did you mean "movie_review"?'
    """
    names = {each.lower(): each for each in known}
    close = difflib.get_close_matches(str(name).lower(), names, n=1)
    return f' Did you mean "{names[close[0]]}"?' if close else ""


def list_names(names: Iterable[str]) -> str:
    """Return names in quotation marks, separated by commas; of a long list only the beginning.

    >>> list_names(["text", "label"])
    '"text", "label"'
    """
    quoted = [f'"{name[:40]}"' for name in names]
    rest = f" and {len(quoted) - LONGEST_LIST} more" if len(quoted) > LONGEST_LIST else ""
    return ", ".join(quoted[:LONGEST_LIST]) + rest or "none"
