"""Numbers spelled out in English and German."""

from __future__ import annotations

_ENGLISH = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_ENGLISH_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ENGLISH_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_GERMAN = [
    "null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn",
]  # fmt: skip
_GERMAN_TENS = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
_GERMAN_ORDINALS = {1: "erste", 3: "dritte", 7: "siebte", 8: "achte"}


def english(number: int) -> str:
    """Spell out a number from 0 to 9999 in British English.

    >>> english(1305)
    'one thousand three hundred and five'
    """
    _check(number)
    if number < 20:
        return _ENGLISH[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _ENGLISH_TENS[tens - 2] + (f"-{_ENGLISH[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        return f"{_ENGLISH[hundreds]} hundred" + (f" and {english(rest)}" if rest else "")
    thousands, rest = divmod(number, 1000)
    between = " and " if 0 < rest < 100 else " "
    return f"{_ENGLISH[thousands]} thousand" + (between + english(rest) if rest else "")


def english_ordinal(number: int) -> str:
    """Spell out an ordinal number, such as `"twenty-third"`."""
    words = english(number)
    last = words.replace("-", " ").split()[-1]
    if last in _ENGLISH_ORDINALS:
        ordinal = _ENGLISH_ORDINALS[last]
    else:
        ordinal = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return words.removesuffix(last) + ordinal


def german(number: int) -> str:
    """Spell out a number from 0 to 9999 in German, in the form used for counting.

    >>> german(1321)
    'eintausenddreihunderteinundzwanzig'
    """
    _check(number)
    words = _german(number)
    return words + "s" if number % 100 == 1 else words


def german_ordinal(number: int) -> str:
    """Spell out an ordinal number in the form that follows an article, such as `"dreiundzwanzigste"`."""
    _check(number)
    words, end = _german(number), number % 100
    if end in _GERMAN_ORDINALS:
        return words.removesuffix(_GERMAN[end]) + _GERMAN_ORDINALS[end]
    return words + ("te" if 0 < end < 20 else "ste")


def _german(number: int) -> str:
    """Spell out a number as part of a longer word, where 1 is "ein"."""
    if number < 20:
        return _GERMAN[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return (f"{_GERMAN[ones]}und" if ones else "") + _GERMAN_TENS[tens - 2]
    for power, word in ((1000, "tausend"), (100, "hundert")):
        if number >= power:
            count, rest = divmod(number, power)
            return _GERMAN[count] + word + (_german(rest) if rest else "")
    raise AssertionError(number)


def _check(number: int) -> None:
    if not 0 <= number <= 9999:
        raise ValueError(f"`number` must be from 0 to 9999, but got {number!r}.")
