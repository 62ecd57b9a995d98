"""The words of the office notes: what each part of a note is in English and in German.

A value (a date, a time, an amount of money ...) has several English forms, in words and in figures, and one German form
in either: whoever translates can know what is expected. German clauses come in parts, from which `office_notes` makes
the order of words that a main clause, a question or a subordinate clause has.
"""

from __future__ import annotations

import calendar
import datetime
from typing import NamedTuple

from keras_slstm.datasets.number_words import english, english_ordinal, german, german_ordinal


class Value(NamedTuple):
    """A value in every form; of the English ones, each note takes one."""

    english_words: list[str]
    english_figures: list[str]
    german_words: str
    german_figures: str


class Clause(NamedTuple):
    """A statement. German: subject, finite verb, what follows, and the end of the sentence.

    `last` is what the end is where the finite verb stands there: "ab" becomes "abfährt".
    """

    english: str
    subject: str
    verb: str
    middle: str
    end: str
    last: str


# --- values --------------------

ENGLISH_MONTHS = list(calendar.month_name)[1:]
GERMAN_MONTHS = [
    "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
    "Dezember",
]  # fmt: skip
ENGLISH_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
GERMAN_DAYS = ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"]
YEARS = range(1950, 2050)


def date(day: int, month: int, year: int | None = None, weekday: bool = False) -> Value:
    """A date, with its day of the week where asked for (and the year is given)."""
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
    """A time of the day; the minute divides by 5."""
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


class Currency(NamedTuple):
    """A currency: English name and sign, German name and sign."""

    english: str
    sign: str
    german: str
    german_sign: str


CURRENCIES = [
    Currency("euros", "€", "Euro", "€"),
    Currency("dollars", "$", "Dollar", "$"),
    Currency("pounds", "£", "Pfund", "£"),
    Currency("francs", "CHF ", "Franken", "CHF"),
]


def amount(whole: int, hundredths: int, currency: Currency) -> Value:
    """An amount of money of at least two of a currency."""
    words, german_words = [f"{english(whole)} {currency.english}"], f"{german(whole)} {currency.german}"
    english_figure, german_figure = f"{whole:,}", f"{whole:,}".replace(",", ".")
    if hundredths:
        words = [words[0] + link + english(hundredths) for link in (" ", " and ")]
        german_words += f" {german(hundredths)}"
        english_figure, german_figure = f"{english_figure}.{hundredths:02}", f"{german_figure},{hundredths:02}"
    figures = [f"{currency.sign}{english_figure}", f"{english_figure} {currency.english}"]
    return Value(words, figures, german_words, f"{german_figure} {currency.german_sign}")


UNITS = [("minutes", "Minuten"), ("hours", "Stunden"), ("days", "Tage"), ("weeks", "Wochen"), ("months", "Monate")]


def duration(count: int, unit: tuple[str, str]) -> Value:
    """So many minutes, hours ..., at least two."""
    return Value(
        [f"{english(count)} {unit[0]}"], [f"{count} {unit[0]}"], f"{german(count)} {unit[1]}", f"{count} {unit[1]}"
    )


def hours_and_a_half(hours: int) -> Value:
    """Hours from 1 on, and a half."""
    words = ["an hour and a half", "one and a half hours"] if hours == 1 else [f"{english(hours)} and a half hours"]
    german_words = f"{'ein' if hours == 1 else german(hours)}einhalb Stunden"
    return Value(words, [f"{hours}.5 hours"], german_words, f"{hours},5 Stunden")


def count(number: int) -> Value:
    """A number of things, at least two."""
    words = [english(number)] + (["a dozen"] if number == 12 else [])
    return Value(words, [str(number)], german(number), str(number))


# --- names and things --------------------

NAMES = [
    "Adler", "Baumann", "Costa", "Dubois", "Evans", "Fischer", "Garcia", "Hansen", "Ito", "Jansen", "Keller", "Lopez",
    "Meyer", "Novak", "Okafor", "Peters", "Quinn", "Rossi", "Schulz", "Tanaka", "Unger", "Vogel", "Weber", "Young",
    "Zhang",
]  # fmt: skip
PEOPLE = [(f"Mr {name}", f"Herr {name}") for name in NAMES] + [(f"Ms {name}", f"Frau {name}") for name in NAMES]
CITIES = {
    "Vienna": "Wien", "Munich": "München", "Cologne": "Köln", "Zurich": "Zürich", "Geneva": "Genf",
    "Brussels": "Brüssel", "Prague": "Prag", "Milan": "Mailand", "Venice": "Venedig", "Warsaw": "Warschau",
    "Lisbon": "Lissabon", "Copenhagen": "Kopenhagen", "Berlin": "Berlin", "Hamburg": "Hamburg",
}  # fmt: skip
# All of them are subjects, wherever they stand: one German form will do.
EVENTS = {
    "the meeting": "die Besprechung", "the appointment": "der Termin", "the lecture": "der Vortrag",
    "the interview": "das Gespräch", "the course": "der Kurs", "the concert": "das Konzert", "the exam": "die Prüfung",
}  # fmt: skip
BILLS = {
    "the invoice": "die Rechnung", "the deposit": "die Anzahlung", "the fee": "die Gebühr", "the fine": "die Strafe",
    "the contribution": "der Beitrag", "the donation": "die Spende",
}  # fmt: skip
VEHICLES = {"the train": "der Zug", "the bus": "der Bus", "the ferry": "die Fähre", "the plane": "das Flugzeug"}
GUESTS = {"guests": "Gäste", "students": "Studenten", "visitors": "Besucher", "members": "Mitglieder"}
THINGS = {"event": EVENTS, "bill": BILLS, "vehicle": VEHICLES, "guests": GUESTS, "city": CITIES}

# --- clauses and what is made of them --------------------

# {date}, {day} (without a day of the week), {time}, {amount}, {duration} and {number} are values, {person} is a name.
CLAUSES = [
    Clause("{event} begins at {time} on {date}", "{event}", "beginnt", "am {date} um {time}", "", "beginnt"),
    Clause("on {date} {event} begins at {time}", "{event}", "beginnt", "am {date} um {time}", "", "beginnt"),
    Clause(
        "{event} does not begin at {time} but at {time2}",
        "{event}", "beginnt", "nicht um {time}, sondern um {time2}", "", "beginnt",
    ),
    Clause("{event} on {date} lasts {duration}", "{event} am {date}", "dauert", "{duration}", "", "dauert"),
    Clause(
        "{event} was moved from {day} to {day2}",
        "{event}", "wurde", "vom {day} auf den {day2}", "verschoben", "verschoben wurde",
    ),
    Clause("{vehicle} to {city} leaves at {time}", "{vehicle} nach {city}", "fährt", "um {time}", "ab", "abfährt"),
    Clause("{vehicle} from {city} arrives at {time}", "{vehicle} aus {city}", "kommt", "um {time}", "an", "ankommt"),
    Clause("{vehicle} to {city} costs {amount}", "{vehicle} nach {city}", "kostet", "{amount}", "", "kostet"),
    Clause("{vehicle} is {duration} late", "{vehicle}", "hat", "{duration} Verspätung", "", "hat"),
    Clause("{bill} of {amount} is due on {date}", "{bill} über {amount}", "ist", "am {date}", "fällig", "fällig ist"),
    Clause(
        "{bill} of {amount} was paid on {day}",
        "{bill} über {amount}", "wurde", "am {day}", "bezahlt", "bezahlt wurde",
    ),
    Clause("{person} paid {amount} on {day}", "{person}", "hat", "am {day} {amount}", "bezahlt", "bezahlt hat"),
    Clause("{person} has owed us {amount} since {day}", "{person}", "schuldet", "uns seit dem {day} {amount}", "",
           "schuldet"),
    Clause(
        "{person} needs a room for {number} nights from {day}",
        "{person}", "braucht", "ab dem {day} ein Zimmer für {number} Nächte", "", "braucht",
    ),
    Clause("{person} will come at {time} instead of {time2}", "{person}", "kommt", "um {time} statt um {time2}", "",
           "kommt"),
    Clause(
        "{number} {guests} are expected on {date}",
        "{number} {guests}", "werden", "am {date}", "erwartet", "erwartet werden",
    ),
]  # fmt: skip

# English and German; of a clause {main}, {question} (verb first) and {sub} (verb last); {person3} is a name.
SENTENCES = [
    ("{main}.", "{main}."),
    ("{main}.", "{main}."),
    ("Please note that {main}.", "Bitte beachten Sie, dass {sub}."),
    ("{person3} writes that {main}.", "{person3} schreibt, dass {sub}."),
    ("{person3} did not know that {main}.", "{person3} hat nicht gewusst, dass {sub}."),
    ("Is it true that {main}?", "Stimmt es, dass {sub}?"),
    ("If {main}, please call us.", "Wenn {sub}, rufen Sie uns bitte an."),
    ("Please call us if {main}.", "Rufen Sie uns bitte an, wenn {sub}."),
]
# Of two clauses.
PAIRS = [
    ("{main}, but {main2}.", "{main}, aber {main2}."),
    ("Although {main}, {main2}.", "Obwohl {sub}, {question2}."),
    ("{main} although {main2}.", "{main}, obwohl {sub2}."),
    ("If {main}, {main2}.", "Wenn {sub}, {question2}."),
]
