import unicodedata

import keras
import numpy as np
import pytest

from keras_slstm.text.characters import pad_characters
from keras_slstm.text.text_vectorizer import TextVectorizer, pad

NASTY = [
    "Book a flight to Zürich, please!",
    "Don't go to St. John's at 10:30 o'clock; 'quoted' words' end",
    "don’t mix ’em up",
    "''' '' a''b 'a'b'c' rock'n'roll",
    "snake_case and-hyphen under__score",
    "",
    " \t\n ",
    "no\u00a0break\u0085next\u2028line\tand\r\nmore\x1cfs\x00nul",
    "emoji 😀👩\u200d🚀 flag 🇫🇷 heart ❤\ufe0f!",
    "我要去北京 12月 東京タワー カタカナ ひらがな 서울",
    "e\u0301te\u0301 caf\u00e9 n\u0303 \u0301lone mark",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ, ÇA VA? İSTANBUL STRASSE ẞ",
    "می\u200cخواهم हिन्दी ไทย العربية",
    "$3.50 50% 1/2 ½ x² № 5",
    "\ufeffbom zero\u200bwidth soft\u00adhyphen",
    "[UNK] <s> \\1 \\d+ a.b*c (x|y)",
    "…" * 3 + "—",
]


def slow_words(text):
    """The definition of the "words" tokeniser, one character at a time."""

    def is_letter(c):
        return c in "_\u200c\u200d" or unicodedata.category(c)[0] in "LMN"

    def is_han(c):
        return "CJK UNIFIED" in unicodedata.name(c, "")

    text = text.lower().replace("’", "'")
    tokens, current = [], ""
    for i, c in enumerate(text):
        after = text[i + 1] if i + 1 < len(text) else " "
        in_word = is_letter(c) and not is_han(c)
        if c == "'" and current and is_letter(after) and not is_han(after):
            in_word = True
        if in_word:
            current += c
            continue
        if current:
            tokens.append(current)
            current = ""
        if unicodedata.category(c)[0] != "Z" and unicodedata.category(c) != "Cc":
            tokens.append(c)
    return [*tokens, current] if current else tokens


@pytest.mark.parametrize("text", NASTY)
def test_words_match_the_definition(text):
    assert TextVectorizer().tokenize(text) == slow_words(text)


def test_words_by_example():
    assert TextVectorizer().tokenize("Don't say 'no', John!") == (["don't", "say", "'", "no", "'", ",", "john", "!"])
    assert TextVectorizer(lowercase=False).tokenize("A\u00a0B\u0085C") == ["A", "B", "C"]


def test_whitespace_cuts_at_ascii_white_space_only():
    tokens = TextVectorizer(tokenizer="whitespace").tokenize("It 's\tone\u00a0and\n a\u0085half .\x1c")
    assert tokens == ["it", "'s", "one\u00a0and", "a\u0085half", ".\x1c"]


def test_vocabulary_is_by_frequency_then_alphabet():
    vectorizer = TextVectorizer()
    vectorizer.adapt(["b a c", "b c", "c"])
    assert vectorizer.vocabulary == ["", "[UNK]", "c", "b", "a"]
    assert vectorizer.encode(["a b", "", "c [UNK]"]) == [[4, 3], [1], [2, 1, 1, 1]]


def test_limits():
    texts = ["a a a b b c"]
    for options, words in [({"max_tokens": 4}, ["a", "b"]), ({"min_count": 3}, ["a"]), ({}, ["a", "b", "c"])]:
        vectorizer = TextVectorizer(**options)
        vectorizer.adapt(texts)
        assert vectorizer.vocabulary[2:] == words
    vectorizer = TextVectorizer(max_length=2)
    vectorizer.adapt(texts)
    assert vectorizer.encode(["a b c"]) == [[2, 3]]


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@pytest.mark.parametrize("max_length", [None, 3])
@pytest.mark.parametrize("lowercase", [True, False])
def test_tensorflow_function_is_equal(tokenizer, max_length, lowercase):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("the graph of an exported SavedModel is TensorFlow's")
    import tensorflow as tf

    vectorizer = TextVectorizer(tokenizer=tokenizer, max_length=max_length, lowercase=lowercase)
    vectorizer.adapt(NASTY)
    encode, _ = vectorizer.tensorflow_function()
    encode = tf.function(encode, input_signature=[tf.TensorSpec([None], tf.string)])
    texts = [*NASTY, "unknown wörds here"]
    np.testing.assert_array_equal(encode(tf.constant(texts)), pad(vectorizer.encode(texts)))
    np.testing.assert_array_equal(encode(tf.constant([""])), [[1]])


def test_tensorflow_function_agrees_on_every_common_character():
    if keras.backend.backend() != "tensorflow":
        pytest.skip("the graph of an exported SavedModel is TensorFlow's")
    import tensorflow as tf

    # Later characters may be newer than the Unicode tables of either library.
    points = [*range(0x2FF), *range(0x370, 0x530), *range(0x5D0, 0x5EA), *range(0x1E00, 0x2069), 0x1F600]
    known = [chr(p) for p in points if unicodedata.category(chr(p)) != "Cn"]
    texts = [f"x{c}y {c}{c} 'x{c}'" for c in known]
    vectorizer = TextVectorizer()
    vectorizer.adapt(texts)
    encode, _ = vectorizer.tensorflow_function()
    np.testing.assert_array_equal(encode(tf.constant(texts)), pad(vectorizer.encode(texts)))


def test_assets_round_trip(tmp_path):
    texts = ["a\u0085b \u2028c \x1cd …", "naïve 😀"]
    vectorizer = TextVectorizer(tokenizer="whitespace", min_count=1)
    vectorizer.adapt(texts)
    vectorizer.save_assets(tmp_path)
    loaded = TextVectorizer.from_config(vectorizer.get_config())
    assert not loaded.is_adapted
    loaded.load_assets(tmp_path)
    assert loaded.vocabulary == vectorizer.vocabulary
    assert loaded.encode(texts) == vectorizer.encode(texts)


def test_pad():
    np.testing.assert_array_equal(pad([[1, 2, 3], [4]], 2), [[1, 2, 3, 0], [4, 0, 0, 0]])
    assert pad([[1, 2]], 2).shape == (1, 2)
    assert pad([[1]]).dtype == np.int32


@pytest.mark.parametrize(
    "options",
    [{"max_tokens": 2}, {"min_count": 0}, {"tokenizer": "bpe"}, {"max_length": 0}, {"max_tokens": "10"}],
)
def test_bad_arguments_fail_at_construction(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        TextVectorizer(**options)


def test_bad_texts():
    vectorizer = TextVectorizer()
    with pytest.raises(ValueError, match="call `adapt"):
        vectorizer.encode(["a"])
    with pytest.raises(ValueError, match="Text 1 must be a string, but is 3"):
        vectorizer.adapt(["a", 3])
    with pytest.raises(ValueError, match="one string"):
        vectorizer.adapt("a text")
    with pytest.raises(ValueError, match="min_count"):
        vectorizer.adapt(["", " "])
    with pytest.raises(ValueError, match="twice"):
        vectorizer.set_vocabulary(["a", "b", "a"])
    with pytest.raises(ValueError, match="line breaks"):
        vectorizer.set_vocabulary(["a\nb"])


def test_characters_belong_to_the_words():
    vectorizer = TextVectorizer(max_characters=4, max_length=2, lowercase=False)
    vectorizer.adapt(["Rome to Oslo", "abcdef"])
    assert vectorizer.characters_size == 2 + len(set("RometoOsloabcdef"))  # of what is kept of longer texts, too
    words, empty = vectorizer.encode_characters(["Rome abcdef to", ""])
    assert [len(word) for word in words] == [4, 4]  # the third word is cut off, of the second stay two at each end
    assert empty == [[]]
    assert vectorizer.encode_characters(["ab"])[0][0] == words[1][:2]
    adapted = TextVectorizer()
    adapted.adapt(["a"])
    with pytest.raises(ValueError, match="create it with `max_characters`"):
        adapted.encode_characters(["a"])
    with pytest.raises(ValueError, match="no vocabulary"):
        TextVectorizer(max_characters=4).encode_characters(["a"])
    with pytest.raises(ValueError, match="max_characters"):
        TextVectorizer(max_characters=1)


def test_characters_round_trip(tmp_path):
    vectorizer = TextVectorizer(max_characters=8)
    vectorizer.adapt(["Rome to Oslo"])
    vectorizer.save_assets(tmp_path)
    copy = TextVectorizer.from_config(vectorizer.get_config())
    copy.load_assets(tmp_path)
    assert copy.encode_characters(["slow tram"]) == vectorizer.encode_characters(["slow tram"])


@pytest.mark.parametrize("max_length", [None, 2])
def test_tensorflow_function_spells_as_python_does(max_length):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("the graph of an exported SavedModel is TensorFlow's")
    import tensorflow as tf

    vectorizer = TextVectorizer(max_characters=4, max_length=max_length)
    vectorizer.adapt(NASTY)
    texts = [*NASTY, "", "unknown wörds here"]
    encode, _ = vectorizer.tensorflow_function()
    found = encode(tf.constant(texts))
    words = pad(vectorizer.encode(texts))
    np.testing.assert_array_equal(found["words"], words)
    spelled = pad_characters(vectorizer.encode_characters(texts), words.shape[1], 4)
    np.testing.assert_array_equal(found["characters"], spelled)
    assert encode(tf.constant([""]))["characters"].shape == (1, 1, 4)


def test_counts_replace_texts():
    texts = ["Book a flight!", "book a table"]
    from_texts, from_counts = TextVectorizer(), TextVectorizer()
    from_texts.adapt(texts)
    from_counts.adapt(from_counts.count(texts))
    assert from_counts.vocabulary == from_texts.vocabulary
    assert from_counts.count(texts)["book"] == 2


SPLIT = ["Don't ask; it's John's well-known mother-in-law's a-b-c!", "rock-'n'-roll isn't n't 's - -x x- don’t WE'RE"]


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
def test_words_are_split_if_more_have_vectors(tokenizer):
    texts = ["it's well-known", "it's"]
    vectorizer = TextVectorizer(tokenizer=tokenizer)
    assert {"it", "'s", "it's", "known"} <= vectorizer.look_ups(texts)
    vectorizer.adapt(texts, known=["it", "'s", "well", "rome"])
    assert vectorizer.split_words is True
    assert vectorizer.tokenize("It's Well-known.")[:5] == [
        "it",
        "'s",
        "well",
        "-",
        "known" if tokenizer == "words" else "known.",
    ]
    assert {"'s", "rome"} <= set(vectorizer.vocabulary)
    as_written = TextVectorizer(tokenizer=tokenizer)
    as_written.adapt(texts, known=["it's", "well-known"])
    assert as_written.split_words is False
    without = TextVectorizer(tokenizer=tokenizer)
    without.adapt(texts)
    assert without.split_words is False
    assert "it's" in without.vocabulary


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="needs TensorFlow")
@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_tensorflow_splits_as_python_does(tokenizer, lowercase):
    vectorizer = TextVectorizer(tokenizer=tokenizer, lowercase=lowercase, split_words=True)
    vectorizer.adapt([*SPLIT, *NASTY])
    encode, _ = vectorizer.tensorflow_function()
    for text in [*SPLIT, *NASTY]:
        assert encode([text]).numpy()[0].tolist() == vectorizer.encode([text])[0], vectorizer.tokenize(text)


def test_words_that_occur_once_are_unknown_unless_there_are_many():
    texts = ["a b a b a b a b a b", "a b a b a b a b a c"]
    vectorizer = TextVectorizer()
    vectorizer.adapt(texts)
    assert vectorizer.vocabulary[2:] == ["a", "b"]
    small = TextVectorizer()
    small.adapt(["a b", "a c"])
    assert small.vocabulary[2:] == ["a", "b", "c"]
