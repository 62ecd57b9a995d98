"""A seeded generator of ten small files of labelled text, like those of users.

Each has words to learn from, words that mean nothing, and some words that occur once. The label depends on single
words, a negation, the order of words, a pair of words that must agree, or the words beside a name.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FILLER = [
    "the", "a", "our", "my", "this", "that", "please", "just", "really", "today",
    "now", "then", "also", "maybe", "quite", "some", "of", "for", "with", "about",
]  # fmt: skip
GOOD = ["great", "lovely", "tasty", "friendly", "clean", "quick", "helpful", "bright", "fresh", "smooth"]
BAD = ["awful", "slow", "dirty", "rude", "broken", "noisy", "stale", "late", "cold", "boring"]
THINGS = ["food", "staff", "room", "coffee", "screen", "delivery", "parking", "breakfast", "battery", "service"]
TEAMS = {
    "billing": ["invoice", "refund", "charge", "payment", "receipt"],
    "delivery": ["parcel", "courier", "tracking", "shipment", "doorstep"],
    "login": ["password", "account", "username", "captcha", "lockout"],
    "returns": ["exchange", "warranty", "defect", "replacement", "voucher"],
    "sales": ["discount", "quote", "upgrade", "bundle", "catalogue"],
    "hardware": ["printer", "cable", "monitor", "keyboard", "charger"],
    "travel": ["flight", "hotel", "visa", "luggage", "itinerary"],
    "legal": ["contract", "clause", "lawsuit", "copyright", "consent"],
}
CITIES = ["oslo", "rome", "lima", "cairo", "quito", "dublin", "tokyo", "berlin", "porto", "delhi"]
FRUIT, TOOLS = ["apple", "pear", "plum", "grape", "melon"], ["hammer", "saw", "drill", "wrench", "pliers"]


class SmallFile(NamedTuple):
    """A kind of file: `kind` is "text", "pair" or "tokens"; `example` draws what stands in a line."""

    name: str
    kind: str
    lines: int
    example: Callable[[random.Random], tuple]


def words(draw: random.Random, *chosen: str, filler: int = 5) -> list[str]:
    """The words in their order, with filler between them, and now and then a word of its own."""
    line: list[str] = []
    for word in [*chosen, ""]:
        line += draw.choices(FILLER, k=draw.randint(0, filler))
        line += [word] if word else []
    if draw.random() < 0.3:
        line.insert(draw.randrange(len(line) + 1), "".join(draw.choices("bcdfghklmnprst", k=6)))
    return line


def opinion(adjectives: int) -> Callable[[random.Random], tuple[str, str]]:
    def example(draw: random.Random) -> tuple[str, str]:
        label = draw.choice(["good", "bad"])
        adjective = draw.choice((GOOD if label == "good" else BAD)[:adjectives])
        return " ".join(words(draw, draw.choice(THINGS), adjective)), label

    return example


def negated(draw: random.Random) -> tuple[str, str]:
    is_good, is_negated = draw.random() < 0.5, draw.random() < 0.4
    adjective = draw.choice((GOOD if is_good else BAD)[:5])
    chosen = ["not", adjective] if is_negated else [adjective]
    line = words(draw, draw.choice(THINGS), " ".join(chosen))
    return " ".join(line), "good" if is_good != is_negated else "bad"


def ticket(count: int, wrong: float = 0.0, skewed: bool = False) -> Callable[[random.Random], tuple[str, str]]:
    names = list(TEAMS)[:count]

    def example(draw: random.Random) -> tuple[str, str]:
        label = draw.choices(names, weights=[6, *[1] * (count - 1)] if skewed else None)[0]
        line = " ".join(words(draw, draw.choice(TEAMS[label])))
        return line, draw.choice(names) if draw.random() < wrong else label

    return example


def order(draw: random.Random) -> tuple[str, str]:
    label = draw.choice(["to rome", "from rome"])
    cities = ["rome", draw.choice(CITIES[2:6])]
    first, second = cities if label == "from rome" else cities[::-1]
    return " ".join(words(draw, f"from {first}", f"to {second}", filler=2)), label


def same_kind(draw: random.Random) -> tuple[str, str, str]:
    label = draw.choice(["same", "other"])
    first = draw.choice([FRUIT, TOOLS])
    second = first if label == "same" else FRUIT if first is TOOLS else TOOLS
    one, two = (" ".join(words(draw, draw.choice(group), filler=2)) for group in (first, second))
    return one, two, label


def denied(draw: random.Random) -> tuple[str, str, str]:
    label = draw.choice(["agrees", "denies"])
    thing, adjective = draw.choice(THINGS[:5]), draw.choice(GOOD[:5])
    negation = "never" if label == "denies" else "indeed"
    first, second = (thing, adjective), (thing, negation, adjective)
    return " ".join(words(draw, *first, filler=2)), " ".join(words(draw, *second, filler=2)), label


def places(draw: random.Random) -> tuple[list[str], list[str]]:
    tokens: list[str] = []
    tags: list[str] = []
    for _ in range(draw.randint(1, 3)):
        filler = draw.choices(FILLER, k=draw.randint(1, 4))
        name = draw.choice(CITIES)
        role = draw.choice(["from", "to"])
        name_tokens = ["new", name] if draw.random() < 0.3 else [name]
        tokens += [*filler, role, *name_tokens]
        tag = "START" if role == "from" else "END"
        tags += ["O"] * (len(filler) + 1) + [f"B-{tag}", *[f"I-{tag}"] * (len(name_tokens) - 1)]
    return tokens, tags


SMALL_FILES = [
    SmallFile("twenty_opinions", "text", 20, opinion(2)),
    SmallFile("eighty_opinions", "text", 80, opinion(6)),
    SmallFile("negations", "text", 250, negated),
    SmallFile("three_teams", "text", 60, ticket(3)),
    SmallFile("eight_teams", "text", 500, ticket(8)),
    SmallFile("noisy_teams", "text", 300, ticket(4, wrong=0.15)),
    SmallFile("skewed_teams", "text", 200, ticket(5, skewed=True)),
    SmallFile("directions", "text", 200, order),
    SmallFile("pairs_of_a_kind", "pair", 300, same_kind),
    SmallFile("denials", "pair", 200, denied),
    SmallFile("places", "tokens", 60, places),
]


def examples(file: SmallFile, seed: int = 0, count: int | None = None) -> list[tuple]:
    """Examples of a file; other seeds give other ones of the same kind."""
    draw = random.Random(f"{file.name} {seed}")
    return [file.example(draw) for _ in range(count or file.lines)]


def write(file: SmallFile, path: Path, seed: int = 0, count: int | None = None) -> Path:
    """Write a file as a person would bring it: TSV with a header, or CoNLL."""
    rows = examples(file, seed, count)
    if file.kind == "tokens":
        sentences = ["".join(f"{token} {tag}\n" for token, tag in zip(*row)) for row in rows]
        path.write_text("\n".join(sentences), encoding="utf-8")
        return path
    header = ("text", "label") if file.kind == "text" else ("text_a", "text_b", "label")
    path.write_text("".join("\t".join(row) + "\n" for row in [header, *rows]), encoding="utf-8")
    return path
