import pytest

from keras_slstm.datasets.number_words import english, english_ordinal, german, german_ordinal


@pytest.mark.parametrize(
    ("number", "in_english", "ordinal", "in_german", "german_ordinal_"),
    [
        (0, "zero", "zeroth", "null", "nullste"),
        (1, "one", "first", "eins", "erste"),
        (2, "two", "second", "zwei", "zweite"),
        (3, "three", "third", "drei", "dritte"),
        (7, "seven", "seventh", "sieben", "siebte"),
        (8, "eight", "eighth", "acht", "achte"),
        (9, "nine", "ninth", "neun", "neunte"),
        (12, "twelve", "twelfth", "zwölf", "zwölfte"),
        (16, "sixteen", "sixteenth", "sechzehn", "sechzehnte"),
        (17, "seventeen", "seventeenth", "siebzehn", "siebzehnte"),
        (20, "twenty", "twentieth", "zwanzig", "zwanzigste"),
        (21, "twenty-one", "twenty-first", "einundzwanzig", "einundzwanzigste"),
        (30, "thirty", "thirtieth", "dreißig", "dreißigste"),
        (31, "thirty-one", "thirty-first", "einunddreißig", "einunddreißigste"),
        (77, "seventy-seven", "seventy-seventh", "siebenundsiebzig", "siebenundsiebzigste"),
        (100, "one hundred", "one hundredth", "einhundert", "einhundertste"),
        (101, "one hundred and one", "one hundred and first", "einhunderteins", "einhunderterste"),
        (112, "one hundred and twelve", "one hundred and twelfth", "einhundertzwölf", "einhundertzwölfte"),
        (643, "six hundred and forty-three", "six hundred and forty-third", "sechshundertdreiundvierzig",
         "sechshundertdreiundvierzigste"),
        (1000, "one thousand", "one thousandth", "eintausend", "eintausendste"),
        (2001, "two thousand and one", "two thousand and first", "zweitausendeins", "zweitausenderste"),
        (9999, "nine thousand nine hundred and ninety-nine", "nine thousand nine hundred and ninety-ninth",
         "neuntausendneunhundertneunundneunzig", "neuntausendneunhundertneunundneunzigste"),
    ],
)  # fmt: skip
def test_numbers(number, in_english, ordinal, in_german, german_ordinal_):
    assert english(number) == in_english
    assert english_ordinal(number) == ordinal
    assert german(number) == in_german
    assert german_ordinal(number) == german_ordinal_


@pytest.mark.parametrize("function", [english, english_ordinal, german, german_ordinal])
def test_no_two_numbers_are_the_same_and_others_raise(function):
    assert len({function(number) for number in range(10_000)}) == 10_000
    for number in (-1, 10_000):
        with pytest.raises(ValueError, match=str(number)):
            function(number)
