"""The grammar of the office notes in English and German. `office_grammar.toml` holds the names and patterns.

A value (a date, a time, an amount of money ...) has several English forms, in words and in figures, but a single German
form in words and one in figures, so that a translation is either right or wrong. German clauses are stored in parts,
and `office_notes` arranges them in the word order of a main clause, a question or a subordinate clause.

Placeholders in patterns: `{date}`, `{day}` (without a day of the week), `{time}`, `{amount}`, `{duration}` and
`{number}` are values; `{person}` and `{person3}` are names; `{event}`, `{bill}` ... are things; `{main}`, `{question}`
(verb first) and `{sub}` (verb last) are clauses.
"""

from __future__ import annotations

import datetime
from typing import NamedTuple

from keras_slstm.datasets.number_words import english, english_ordinal, german, german_ordinal
from keras_slstm.datasets.travel_grammar import read_grammar


class Value(NamedTuple):
    """All forms of a value. Each note uses one of the English forms."""

    english_words: list[str]
    english_figures: list[str]
    german_words: str
    german_figures: str


class Clause(NamedTuple):
    """A statement. Its German parts are the subject, the finite verb, the middle, and the end of the sentence.

    In a subordinate clause, where the finite verb comes last, `last` replaces `end`: "ab" becomes "abfährt".
    """

    english: str
    subject: str
    verb: str
    middle: str
    end: str
    last: str


class Currency(NamedTuple):
    """A currency: English name and sign, German name and sign."""

    english: str
    sign: str
    german: str
    german_sign: str


_GRAMMAR = read_grammar("office_grammar")
ENGLISH_MONTHS, GERMAN_MONTHS = _GRAMMAR["english_months"], _GRAMMAR["german_months"]
ENGLISH_DAYS, GERMAN_DAYS = _GRAMMAR["english_days"], _GRAMMAR["german_days"]
CURRENCIES = [Currency(*names) for names in _GRAMMAR["currencies"]]
UNITS: list[tuple[str, str]] = [(one, other) for one, other in _GRAMMAR["units"]]
PEOPLE = [(f"{mr} {name}", f"{herr} {name}") for mr, herr in _GRAMMAR["titles"] for name in _GRAMMAR["names"]]
THINGS: dict[str, dict[str, str]] = _GRAMMAR["things"]
CLAUSES = [Clause(*parts) for parts in _GRAMMAR["clauses"]]
SENTENCES: list[list[str]] = _GRAMMAR["sentences"]  # of one clause, in English and German
PAIRS: list[list[str]] = _GRAMMAR["pairs"]  # of two clauses
YEARS = range(1950, 2050)


def date(day: int, month: int, year: int | None = None, weekday: bool = False) -> Value:
    """Return a date. With `weekday`, which needs the year, it includes the day of the week."""
    ordinal, english_month, german_month = english_ordinal(day), ENGLISH_MONTHS[month - 1], GERMAN_MONTHS[month - 1]
    words = [f"the {ordinal} of {english_month}", f"{english_month} the {ordinal}"]
    figures = [f"{day} {english_month}", f"{english_month} {day}"]
    german_words, german_figures = f"{german_ordinal(day)}n {german_month}", f"{day:02}.{month:02}."
    if year is not None:
        words = [f"{one} {spoken}" for one in words for spoken in _english_years(year)]
        figures = [f"{figures[0]} {year}", f"{figures[1]}, {year}"]
        german_words = f"{german_words} {_german_year(year)}"
        german_figures += str(year)
        if weekday:
            index = datetime.date(year, month, day).weekday()
            words, figures = ([f"{ENGLISH_DAYS[index]}, {one}" for one in forms] for forms in (words, figures))
            german_words, german_figures = (
                f"{GERMAN_DAYS[index]}, dem {one}" for one in (german_words, german_figures)
            )
    return Value(words, figures, german_words, german_figures)


def _english_years(year: int) -> list[str]:
    century, rest = divmod(year, 100)
    pairs = [f"{english(century)} {english(rest)}"] if rest >= 10 else []
    return pairs + ([english(year)] if year >= 2000 else []) or [f"{english(century)} hundred"]


def _german_year(year: int) -> str:
    century, rest = divmod(year, 100)
    return german(year) if year >= 2000 else f"{german(century)}hundert{german(rest) if rest else ''}"


def time(hour: int, minute: int) -> Value:
    """Return a time of day. The minute must be divisible by 5."""
    part = "at night" if hour < 5 or hour > 21 else "in the morning" if hour < 12 else "in the afternoon"
    part = "in the evening" if 18 <= hour <= 21 else part
    now, following = (english((h - 1) % 12 + 1) for h in (hour, hour + 1))
    words = [f"{now} {english(minute) if minute >= 10 else 'oh five'} {part}"]
    past = {15: "a quarter past", 30: "half past"}
    if minute == 0:
        words = {0: ["midnight"], 12: ["noon"]}.get(hour, [f"{now} o'clock {part}"])
    elif minute <= 30:
        words.append(f"{past.get(minute, f'{english(minute)} past')} {now} {part}")
    else:
        words.append(f"{'a quarter' if minute == 45 else english(60 - minute)} to {following} {part}")
    figures = [f"{(hour - 1) % 12 + 1}:{minute:02} {'am' if hour < 12 else 'pm'}", f"{hour:02}:{minute:02}"]
    spoken = "ein" if hour == 1 else german(hour)
    return Value(words, figures, f"{spoken} Uhr{f' {german(minute)}' if minute else ''}", f"{hour}:{minute:02} Uhr")


def amount(whole: int, hundredths: int, currency: Currency) -> Value:
    """Return an amount of money of at least two units of the currency."""
    words, german_words = [f"{english(whole)} {currency.english}"], f"{german(whole)} {currency.german}"
    english_figure, german_figure = f"{whole:,}", f"{whole:,}".replace(",", ".")
    if hundredths:
        words = [words[0] + link + english(hundredths) for link in (" ", " and ")]
        german_words += f" {german(hundredths)}"
        english_figure, german_figure = f"{english_figure}.{hundredths:02}", f"{german_figure},{hundredths:02}"
    figures = [f"{currency.sign}{english_figure}", f"{english_figure} {currency.english}"]
    return Value(words, figures, german_words, f"{german_figure} {currency.german_sign}")


def duration(count: int, unit: tuple[str, str]) -> Value:
    """Return a duration of at least two minutes, hours, ..."""
    return Value(
        [f"{english(count)} {unit[0]}"], [f"{count} {unit[0]}"], f"{german(count)} {unit[1]}", f"{count} {unit[1]}"
    )


def hours_and_a_half(hours: int) -> Value:
    """Return a duration of at least one hour plus half an hour."""
    words = ["an hour and a half", "one and a half hours"] if hours == 1 else [f"{english(hours)} and a half hours"]
    german_words = f"{'ein' if hours == 1 else german(hours)}einhalb Stunden"
    return Value(words, [f"{hours}.5 hours"], german_words, f"{hours},5 Stunden")


def count(number: int) -> Value:
    """Return a count of at least two things."""
    words = [english(number)] + (["a dozen"] if number == 12 else [])
    return Value(words, [str(number)], german(number), str(number))
