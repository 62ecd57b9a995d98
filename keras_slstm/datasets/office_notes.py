"""A corpus of short notes in English and German, generated from the package's own grammar.

The notes are about appointments, journeys and payments. They are full of dates, times and amounts, in words in one
language and in figures in the other. To translate a note, a model must read numbers that are written in several ways,
order them as in German, and move the verb to the end of a subordinate clause.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from keras_slstm.datasets import office_grammar as grammar
from keras_slstm.datasets.office_grammar import Value

T = TypeVar("T")

# English words become German figures, or English figures become German words.
TASKS = ("to_figures", "to_words")
SPLITS: dict[str, int] = {"train": 10_000, "validation": 1_000, "test": 1_000}
SHARE_OF_PAIRS = 0.35  # notes that consist of two clauses


@dataclass(frozen=True)
class Note:
    """A note in both languages."""

    english: str
    german: str


def generate_notes(count: int = 12_000, seed: int = 0, task: str = "to_figures") -> list[Note]:
    """Generate distinct notes.

    The same seed gives the same notes on every machine and Python version. With the same seed, a longer list begins
    with the shorter one.

    Args:
        count: Number of notes.
        seed: Seed of the generator.
        task: `"to_figures"`: the English notes spell numbers out, and the German notes use figures. `"to_words"`: the
            reverse.

    Returns:
        `count` notes, no two with the same English text.

    Raises:
        ValueError: If `count` is negative, or the task is unknown.

    Example:

    ```python
    note = generate_notes(1, seed=7)[0]
    print(note.english, "->", note.german)
    ```
    """
    if count < 0:
        raise ValueError(f"`count` must not be negative, but got {count}.")
    if task not in TASKS:
        raise ValueError(f"`task` must be one of {TASKS}, but got {task!r}.")
    return list(itertools.islice(_distinct_notes(seed, task), count))


def generate_splits(seed: int = 0, task: str = "to_figures") -> dict[str, list[Note]]:
    """Generate the corpus: 10,000 notes for training, 1,000 for validation and 1,000 for testing.

    Args:
        seed: Seed of the generator. Seed 0 gives the published corpus.
        task: See `generate_notes`.

    Returns:
        The notes of each split, none of which occurs in another.
    """
    notes = iter(generate_notes(sum(SPLITS.values()), seed, task))
    return {name: list(itertools.islice(notes, size)) for name, size in SPLITS.items()}


def _distinct_notes(seed: int, task: str) -> Iterator[Note]:
    writer, seen = _Writer(seed, task), set()
    while True:
        note = writer.write()
        if note.english not in seen:
            seen.add(note.english)
            yield note


class _Writer:
    """Draws notes with `random()` only, because Python guarantees that its sequence never changes."""

    def __init__(self, seed: int, task: str):
        self._random = random.Random(seed).random
        self._task = task

    def write(self) -> Note:
        two = self._random() < SHARE_OF_PAIRS
        english, german = self._pick(grammar.PAIRS if two else grammar.SENTENCES)
        names = self._draw_distinct(len(grammar.PEOPLE), 3)
        for number in ("", "2")[: two + 1]:
            clause = self._pick(grammar.CLAUSES)
            person = names[1 if number else 0]
            fillers = self._fillers(clause, person)
            parts = [_fill(part, fillers, language=1) for part in clause[1:]]
            english = english.replace(f"{{main{number}}}", _fill(clause.english, fillers, language=0))
            for order, words in _german_orders(*parts).items():
                german = german.replace(f"{{{order}{number}}}", words)
        third = {"person3": grammar.PEOPLE[names[2]]}
        english, german = _fill(english, third, language=0), _fill(german, third, language=1)
        return Note(english[0].upper() + english[1:], german[0].upper() + german[1:])

    def _fillers(self, clause: grammar.Clause, person: int) -> dict[str, tuple[str, str]]:
        """Draw the texts for the placeholders of a clause, in English and German."""
        fillers: dict[str, tuple[str, str]] = {}
        for place in re.findall(r"{(\w+)}", clause.english):
            kind = place.rstrip("2")
            while True:
                filler = self._filler(kind, person)
                if filler not in fillers.values():  # "from Monday to Monday" makes no sense
                    break
            fillers[place] = filler
        return fillers

    def _filler(self, kind: str, person: int) -> tuple[str, str]:
        if kind == "person":
            return grammar.PEOPLE[person]
        if kind in grammar.THINGS:
            return self._pick(list(grammar.THINGS[kind].items()))
        value = self._value(kind)
        if self._task == "to_figures":
            return self._pick(value.english_words), value.german_figures
        return self._pick(value.english_figures), value.german_words

    def _value(self, kind: str) -> Value:
        if kind in ("date", "day"):
            month = self._between(1, 12)
            day = self._between(1, 28 if month == 2 else 30 if month in (4, 6, 9, 11) else 31)
            year = self._pick(grammar.YEARS) if self._random() < 0.6 else None
            return grammar.date(day, month, year, weekday=kind == "date" and self._random() < 0.5)
        if kind == "time":
            return grammar.time(self._between(0, 23), 5 * self._between(0, 11))
        if kind == "amount":
            largest = self._pick([99, 999, 9999])
            hundredths = self._between(1, 99) if self._random() < 0.5 else 0
            return grammar.amount(self._between(2, largest), hundredths, self._pick(grammar.CURRENCIES))
        if kind == "duration":
            if self._random() < 0.2:
                return grammar.hours_and_a_half(self._between(1, 9))
            return grammar.duration(self._between(2, 59), self._pick(grammar.UNITS))
        return grammar.count(self._between(2, 120))

    def _pick(self, options: Sequence[T]) -> T:
        return options[int(self._random() * len(options))]

    def _between(self, least: int, most: int) -> int:
        return least + int(self._random() * (most - least + 1))

    def _draw_distinct(self, size: int, count: int) -> list[int]:
        drawn: list[int] = []
        while len(drawn) < count:
            number = self._between(0, size - 1)
            if number not in drawn:
                drawn.append(number)
        return drawn


def _fill(text: str, fillers: dict[str, tuple[str, str]], language: int) -> str:
    """Fill the placeholders of a text in English (0) or German (1)."""
    return re.sub(r"{(\w+)}", lambda place: fillers[place.group(1)][language], text)


def _german_orders(subject: str, verb: str, middle: str, end: str, last: str) -> dict[str, str]:
    """Return a German clause in its three word orders."""
    return {
        "main": " ".join(filter(None, [subject, verb, middle, end])),
        "question": " ".join(filter(None, [verb, subject, middle, end])),
        "sub": f"{subject} {middle} {last}",
    }
