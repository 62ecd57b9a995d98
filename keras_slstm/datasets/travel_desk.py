"""A corpus of requests to a travel desk, generated from the package's own grammar.

Every request asks for one of twelve things (four actions on a flight, a hotel or a car). Most requests also mention, in
the same words, a second one that is *not* asked for. Only word order, scope and references tell which one is meant, so
a model that counts words does clearly worse than one that reads the sentence.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from keras_slstm.datasets import travel_grammar as grammar

INTENTS: list[str] = grammar.INTENTS
SLOTS: list[str] = list(grammar.SLOTS)
TAGS: list[str] = grammar.TAGS
SHORTEST, LONGEST = 4, 60  # tokens
SPLITS: dict[str, int] = {"train": 8_000, "validation": 1_000, "test": 1_000}

Phrase = list[tuple[str, str]]  # (token, tag)
T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """One request: tokens, a BIO tag (IOB2) for each, and the intent.

    `construction` names the construction of the grammar, to show which constructions a model handles.
    """

    tokens: list[str]
    tags: list[str]
    intent: str
    construction: str

    @property
    def text(self) -> str:
        """The tokens, joined by spaces."""
        return " ".join(self.tokens)


def generate_requests(count: int = 10_000, seed: int = 0) -> list[Request]:
    """Generate distinct travel-desk requests.

    The same seed gives the same requests on every machine and Python version. With the same seed, a longer list
    begins with the shorter one.

    Args:
        count: Number of requests.
        seed: Seed of the generator.

    Returns:
        `count` requests of 4 to 60 tokens, no two with the same text.

    Example:

    ```python
    request = generate_requests(1, seed=7)[0]
    print(request.intent, request.text)
    for token, tag in zip(request.tokens, request.tags):
        print(token, tag)
    ```
    """
    if count < 0:
        raise ValueError(f"`count` must not be negative, but got {count}.")
    return list(itertools.islice(_distinct_requests(seed), count))


def generate_splits(seed: int = 0) -> dict[str, list[Request]]:
    """Generate the corpus: 8,000 requests for training, 1,000 for validation and 1,000 for testing.

    Args:
        seed: Seed of the generator. Seed 0 gives the published corpus.

    Returns:
        The requests of each split, none of which occurs in another.
    """
    requests = iter(generate_requests(sum(SPLITS.values()), seed))
    return {name: list(itertools.islice(requests, size)) for name, size in SPLITS.items()}


def handwritten_requests() -> list[tuple[str, str]]:
    """Return ten handwritten requests with their intents. They are not part of the training data.

    Example:

    >>> handwritten_requests()[1]
    ('Cancel the hotel in Paris, but leave my flight as it is.', 'cancel_hotel')
    """
    return [(request["text"], request["intent"]) for request in grammar.read_grammar("travel_requests")["requests"]]


def _distinct_requests(seed: int) -> Iterator[Request]:
    dice, seen = _RandomChoices(seed), set()
    while True:
        request = _Writer(dice).write(dice.pick(INTENTS))
        if SHORTEST <= len(request.tokens) <= LONGEST and request.text not in seen:
            seen.add(request.text)
            yield request


class _RandomChoices:
    """Makes random choices with `random()` only, because Python guarantees that its sequence never changes."""

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self._random() * len(options))]


@dataclass
class _Action:
    """An action on a thing. Its words are chosen once, so that all mentions in a request agree."""

    action: str
    thing: str
    verb: grammar.Verb
    np: Phrase
    tail: Phrase


class _Writer:
    """Writes one request. It remembers the slot values, so that no place or person appears in two roles."""

    def __init__(self, dice: _RandomChoices):
        self._dice = dice
        in_a_hurry = grammar.PHRASES | grammar.TERSE
        self._phrases = dice.pick([in_a_hurry, in_a_hurry, grammar.PHRASES])
        self._used: set[str] = set()
        self._asks: dict[str, _Action] = {}

    def write(self, intent: str) -> Request:
        action, thing = intent.split("_")
        name, construction = self._construction_for(action)
        other_action, other_thing = self._decoy(action, thing, construction.differs)
        want = self._ask(action, thing)
        other = self._ask(other_action, other_thing)
        if construction.differs == "action":
            other.np = want.np  # both actions are on the very same thing
        self._asks = {"want": want, "other": other}
        pattern = f"<opening> {self._dice.pick(construction.patterns)} <closing>"
        tokens, tags = zip(*self._expand(pattern))
        return Request(list(tokens), list(tags), intent, name)

    def _construction_for(self, action: str) -> tuple[str, grammar.Construction]:
        # Nobody cancels or changes a thing that is yet to be booked.
        fitting = [
            (name, construction)
            for name, construction in grammar.CONSTRUCTIONS.items()
            if not (action == "book" and construction.differs == "action")
        ]
        return self._dice.pick([entry for entry in fitting for _ in range(entry[1].weight)])

    def _decoy(self, action: str, thing: str, differs: str | None) -> tuple[str, str]:
        """Draw the action and the thing that the request mentions but does not ask for."""
        pairs = [(a, t) for a in grammar.ACTIONS for t in grammar.THINGS if (a, t) != (action, thing)]
        if differs == "action":
            pairs = [(a, t) for a, t in pairs if t == thing and a != "book"]
        elif differs == "thing":
            pairs = [(a, t) for a, t in pairs if a == action]
        return self._dice.pick(pairs)

    def _ask(self, action: str, thing: str) -> _Action:
        np = self._expand(f"<new_{thing}>" if action == "book" else f"<known_{thing}>")
        return _Action(
            action,
            thing,
            self._dice.pick(grammar.VERBS[action]),
            np,
            self._expand(grammar.TAILS.get(action, "")),
        )

    def _expand(self, pattern: str) -> Phrase:
        """Replace symbols and slots by drawn phrases until only (token, tag) pairs are left."""
        phrase: Phrase = []
        for word in pattern.split():
            if word.startswith("{"):
                phrase += self._slot(*word[1:-1].split(":"))
            elif word.startswith("<"):
                phrase += self._symbol(word[1:-1])
            else:
                phrase.append((word, "O"))
        return phrase

    def _symbol(self, symbol: str) -> Phrase:
        head, *forms = symbol.split(".")
        if head in self._asks:
            return self._mention(self._asks[head], forms)
        alternatives = [phrase for phrase in self._phrases[symbol] if phrase not in self._used]
        phrase = self._dice.pick(alternatives)
        if symbol in grammar.ONCE:
            self._used.add(phrase)
        return self._expand(phrase)

    def _slot(self, slot: str, symbol: str = "") -> Phrase:
        symbol = symbol or grammar.SLOTS[slot]
        while True:
            words = [word for word, _ in self._symbol(symbol)]
            value = " ".join(words)
            if value not in self._used:
                break
        self._used.add(value)
        return [(word, f"{'I' if i else 'B'}-{slot}") for i, word in enumerate(words)]

    def _mention(self, ask: _Action, forms: list[str]) -> Phrase:
        """Realise `<want>`, `<want.it>`, `<want.ing>` and so on (see the grammar)."""
        if forms == ["say"]:
            before, after = self._dice.pick(grammar.SAYINGS[ask.action]).split("<np>")
            return self._expand(before) + ask.np + self._expand(after)
        if forms == ["np"]:
            return ask.np
        if forms == ["tail"]:
            return ask.tail
        verb = self._expand(ask.verb.ing if "ing" in forms else ask.verb.base)
        particle = self._expand(ask.verb.particle)
        if forms == ["verb"]:
            return verb + particle
        if "it" in forms:
            return verb + [("it", "O")] + particle + ask.tail
        return verb + particle + ask.np + ask.tail
