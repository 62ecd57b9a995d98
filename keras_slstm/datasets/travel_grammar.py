"""The grammar of the travel-desk corpus. `travel_grammar.toml` holds its words, phrases and sentence patterns.

Notation of a pattern (words are separated by spaces, so punctuation stands alone):

- `word`             itself, tagged `O`;
- `<symbol>`         one of the alternatives of `PHRASES["symbol"]`, drawn evenly: an alternative that is
                     listed twice is drawn twice as often;
- `{slot}`           a value of that slot, tagged `B-slot I-slot ...`; `SLOTS` names the phrase that yields the
                     values, and `{slot:symbol}` takes them from another phrase;
- `<want>`, `<other>`  in `CONSTRUCTIONS` only: the request of the traveller, and another one that is mentioned but not
  meant. `<want>` is a whole verb phrase ("move my flight to friday"), `<want.it>` the same with a pronoun, `<want.ing>`
  its gerund, `<want.say>` a separate sentence, and `<want.verb>`, `<want.np>`, `<want.tail>` are its parts.

Tagging rules: cities of a flight (or of a one-way car) are `origin`, `destination` or `via`; any other city
is `city`. Every person is `name` and every calendar date `date`, in both requests.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any, NamedTuple


class Verb(NamedTuple):
    """A verb of a request, with the particle that a pronoun precedes ("call it off")."""

    base: str
    ing: str
    particle: str


class Construction(NamedTuple):
    """A way of asking for one thing while mentioning another.

    `differs` names the difference between the two: the "action" on the same thing, the "thing" of the same action, or
    "any" (at least one of the two). `None`: only one thing is mentioned.
    """

    weight: int
    differs: str | None
    patterns: list[str]


def read_grammar(name: str) -> dict[str, Any]:
    """Read a grammar that comes with this package."""
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def _either(pattern: str, *answers: tuple[str, str]) -> list[str]:
    """Fill `<1st>`, `<2nd>` and `<answer>` in both ways. The answer says which of the two is wanted."""
    filled = []
    for answer, first, second in ((0, "want", "other"), (1, "other", "want")):
        arranged = pattern.replace("<1st", f"<{first}").replace("<2nd", f"<{second}")
        filled += [arranged.replace("<answer>", pair[answer]) for pair in answers]
    return filled


def _construction(weight: int, differs: str | None = None, patterns: Any = (), either: Any = ()) -> Construction:
    return Construction(weight, differs, [*patterns, *(filled for one in either for filled in _either(*one))])


_GRAMMAR = read_grammar("travel_grammar")
VERBS: dict[str, list[Verb]] = {action: [Verb(*verb) for verb in verbs] for action, verbs in _GRAMMAR["verbs"].items()}
ACTIONS = list(VERBS)
THINGS = ["flight", "hotel", "car"]
INTENTS = [f"{action}_{thing}" for action in ACTIONS for thing in THINGS]
TAILS: dict[str, str] = _GRAMMAR["tails"]
SAYINGS: dict[str, list[str]] = _GRAMMAR["sayings"]
SLOTS: dict[str, str] = _GRAMMAR["slots"]
TAGS = ["O"] + [f"{prefix}-{slot}" for slot in SLOTS for prefix in ("B", "I")]
PHRASES: dict[str, list[str]] = _GRAMMAR["phrases"]
TERSE: dict[str, list[str]] = _GRAMMAR["terse"]
ONCE = {"remark"}  # symbols whose alternatives appear at most once in a request
CONSTRUCTIONS = {name: _construction(**construction) for name, construction in _GRAMMAR["constructions"].items()}
