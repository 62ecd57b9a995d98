import hashlib
import json
import re
from dataclasses import astuple

import pytest

from keras_slstm.datasets import office_grammar as grammar
from keras_slstm.datasets.number_words import english
from keras_slstm.datasets.office_notes import SPLITS, generate_notes, generate_splits


@pytest.fixture(scope="module")
def notes():
    return generate_notes(3_000)


def test_same_seed_same_notes_on_every_machine():
    notes = [note for task in ("to_figures", "to_words") for note in generate_notes(200, seed=3, task=task)]
    digest = hashlib.sha256("\n".join(f"{note.english}\t{note.german}" for note in notes).encode()).hexdigest()
    assert digest == "3f74e125d0330119924eadc0e0c6779d2cc695160b8a581b96a70e53a7fd2a5d", (
        "the corpus has changed: measured scores are no longer comparable"
    )


def test_a_longer_list_extends_the_shorter_and_seeds_differ(notes):
    assert generate_notes(50) == notes[:50]
    assert generate_notes(50, seed=1) != notes[:50]
    assert generate_notes(0) == []
    with pytest.raises(ValueError, match="but got -1"):
        generate_notes(-1)
    with pytest.raises(ValueError, match="'to_letters'"):
        generate_notes(1, task="to_letters")


def test_splits_share_no_note():
    splits = generate_splits()
    assert {name: len(notes) for name, notes in splits.items()} == SPLITS
    content = json.dumps({name: [astuple(note) for note in found] for name, found in splits.items()})
    digest = hashlib.sha256(content.encode()).hexdigest()
    assert digest == "07b9d58ed5d6db7806e44f1eb012d1ea1af9efb3714492f6005d1d18436cb056", (
        "the published corpus has changed"
    )
    english = [note.english for notes in splits.values() for note in notes]
    assert len(set(english)) == len(english)


def test_one_side_has_words_and_the_other_figures(notes):
    for note in notes:
        assert not re.search("[0-9]", note.english)
        assert not re.search("[{}]|  ", note.english + note.german)
        assert not note.german[0].islower()
        assert not note.english[0].islower()
        assert re.search("[0-9]", note.german)
    for note in generate_notes(500, task="to_words"):
        assert re.search("[0-9]", note.english)
        assert not re.search("[0-9]", note.german)


def test_every_clause_and_sentence_occurs(notes):
    """Clauses are recognised by the first words after the first slot of each pattern."""
    german = " ".join(note.german for note in notes)
    for clause in grammar.CLAUSES:
        for part in (clause.verb, clause.end, clause.last):
            assert part in german
    for _, sentence in [*grammar.SENTENCES, *grammar.PAIRS]:
        for words in re.sub(r"{\w+}", "|", sentence).split("|"):
            assert words in german


def test_the_order_of_german_words(notes):
    """Checks, independently of the grammar, the position of the verb in clauses about a train's departure."""
    seen = set()
    for note in notes:
        for match in re.finditer(
            r"(fährt|(?:Zug|Bus|Fähre|Flugzeug) nach \w+ um [\d:]+ Uhr ab(?:fährt)?)", note.german
        ):
            before = note.german[: match.start()]
            if match.group(1).endswith("abfährt"):
                assert re.search(r"(dass|Wenn|wenn|Obwohl|obwohl) (der|die|das) $", before), note.german
                seen.add("sub")
            elif match.group(1) == "fährt":
                assert re.search(r"nach \w+ $|, $", before), note.german
                seen.add("question" if before.endswith(", ") else "main")
    assert seen == {"sub", "main", "question"}


def test_dates():
    value = grammar.date(3, 5, 2019)
    assert value.german_figures == "03.05.2019"
    assert value.german_words == "dritten Mai zweitausendneunzehn"
    assert set(value.english_words) == {
        "the third of May twenty nineteen", "the third of May two thousand and nineteen",
        "May the third twenty nineteen", "May the third two thousand and nineteen",
    }  # fmt: skip
    assert value.english_figures == ["3 May 2019", "May 3, 2019"]
    assert grammar.date(3, 5, 2019, weekday=True).german_figures == "Freitag, dem 03.05.2019"
    assert grammar.date(3, 5, 2019, weekday=True).english_figures[1] == "Friday, May 3, 2019"
    assert grammar.date(1, 12).german_words == "ersten Dezember"
    assert grammar.date(1, 12, 1950).german_words == "ersten Dezember neunzehnhundertfünfzig"
    assert grammar.date(1, 12, 2000).english_words[0] == "the first of December two thousand"
    assert grammar.date(1, 12, 2003).english_words[0] == "the first of December two thousand and three"
    assert grammar.date(1, 12, 1900).english_words[0] == "the first of December nineteen hundred"


@pytest.mark.parametrize(
    ("hour", "minute", "words", "figures", "german_figures", "german_words"),
    [
        (0, 0, "midnight", "12:00 am", "0:00 Uhr", "null Uhr"),
        (0, 15, "a quarter past twelve at night", "12:15 am", "0:15 Uhr", "null Uhr fünfzehn"),
        (1, 0, "one o'clock at night", "1:00 am", "1:00 Uhr", "ein Uhr"),
        (11, 45, "a quarter to twelve in the morning", "11:45 am", "11:45 Uhr", "elf Uhr fünfundvierzig"),
        (12, 0, "noon", "12:00 pm", "12:00 Uhr", "zwölf Uhr"),
        (12, 40, "twenty to one in the afternoon", "12:40 pm", "12:40 Uhr", "zwölf Uhr vierzig"),
        (16, 5, "five past four in the afternoon", "4:05 pm", "16:05 Uhr", "sechzehn Uhr fünf"),
        (21, 30, "half past nine in the evening", "9:30 pm", "21:30 Uhr", "einundzwanzig Uhr dreißig"),
        (23, 55, "five to twelve at night", "11:55 pm", "23:55 Uhr", "dreiundzwanzig Uhr fünfundfünfzig"),
    ],
)
def test_times(hour, minute, words, figures, german_figures, german_words):
    value = grammar.time(hour, minute)
    assert value.english_words[-1] == words
    assert value.english_figures == [figures, f"{hour:02}:{minute:02}"]
    assert (value.german_figures, value.german_words) == (german_figures, german_words)


def test_english_phrases_are_unambiguous():
    """The same English words never have two German values."""
    values = [grammar.time(hour, 5 * step) for hour in range(24) for step in range(12)]
    values += [grammar.date(day, month, year) for day in (1, 28) for month in range(1, 13) for year in grammar.YEARS]
    values += [grammar.date(day, month) for day in (1, 28) for month in range(1, 13)]
    values += [
        grammar.amount(whole, part, currency)
        for whole in (2, 20, 21, 100, 120, 2000, 2100)
        for part in range(100)
        for currency in grammar.CURRENCIES
    ]
    values += [grammar.duration(n, unit) for n in range(2, 60) for unit in grammar.UNITS]
    values += [grammar.hours_and_a_half(n) for n in range(1, 10)]
    for forms, meaning in ((0, 3), (1, 2)):  # words to figures, figures to words
        found: dict[str, str] = {}
        for value in values:
            for said in value[forms]:
                assert found.setdefault(said, value[meaning]) == value[meaning], said


def test_amounts_and_durations():
    euro, franc = grammar.CURRENCIES[0], grammar.CURRENCIES[3]
    value = grammar.amount(1250, 5, euro)
    assert value.english_words == [f"{english(1250)} euros five", f"{english(1250)} euros and five"]
    assert value.english_figures == ["€1,250.05", "1,250.05 euros"]
    assert (value.german_figures, value.german_words) == ("1.250,05 €", "eintausendzweihundertfünfzig Euro fünf")
    assert grammar.amount(12, 0, franc).english_figures == ["CHF 12", "12 francs"]
    assert grammar.amount(12, 0, franc).german_figures == "12 CHF"
    assert grammar.hours_and_a_half(1).german_words == "eineinhalb Stunden"
    assert grammar.hours_and_a_half(2).german_figures == "2,5 Stunden"
    assert grammar.count(12).english_words == ["twelve", "a dozen"]
