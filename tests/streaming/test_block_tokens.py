"""The fast tokeniser finds the same tokens as `TextVectorizer`."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_slstm.streaming.block_tokens import _PLAIN, BlockTokenizer, SentenceEncoder
from keras_slstm.text import TextVectorizer, TokenVectorizer

pytestmark = pytest.mark.backends("torch")  # no tensors

# Mostly characters of the fast path, but also other scripts, joiners, control and no-break characters.
_CHARACTERS = st.one_of(
    st.sampled_from("aZ09_' ’.,-!?\t\n“éßµÀÿŸſ½²ªº×÷¿€…\u00ad\u0130"),
    st.characters(codec="utf-8", max_codepoint=0x24F),
    st.sampled_from("\0\x01\x1c\x1f\x7f\x85\xa0\u200b\u200d\u2028Σς漢字नमस्ते\U0001f600"),
)
_TEXTS = st.lists(st.text(_CHARACTERS, max_size=20), min_size=1, max_size=6)


def _check(vectorizer, texts):
    """The words of each text equal those of the vectoriser, and all of them are counted."""
    encoded = BlockTokenizer(vectorizer).encode(texts)
    words = ["[none]", *encoded.words]
    rows = np.split([words[number] for number in encoded.ids], np.cumsum(encoded.lengths)[:-1])
    tokens = list(map(vectorizer.tokenize, texts))
    assert [row.tolist() for row in rows] == [found[: vectorizer.max_length] or ["[none]"] for found in tokens]
    assert dict(zip(encoded.words, encoded.counts, strict=True)) == Counter(word for found in tokens for word in found)


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@pytest.mark.parametrize("lowercase", [True, False])
@given(texts=_TEXTS, split_words=st.sampled_from([None, True]))
@settings(max_examples=80, deadline=None)
def test_tokens_equal_those_of_the_vectorizer(tokenizer, lowercase, texts, split_words):
    vectorizer = TextVectorizer(tokenizer=tokenizer, lowercase=lowercase, split_words=split_words)
    _check(vectorizer, texts)


@pytest.mark.parametrize("lowercase", [True, False])
def test_every_plain_character(lowercase):
    plain = [chr(code) for code in range(0x3000) if re.fullmatch(_PLAIN, chr(code))]
    assert len(plain) > 300
    vectorizer = TextVectorizer(lowercase=lowercase)
    texts = [
        pattern.replace("#", character) for character in plain for pattern in ("#", "a#b", "a'#", "#'a", "a#'b ##")
    ]
    _check(vectorizer, texts)


@given(texts=_TEXTS, max_length=st.sampled_from([1, 2, 3]))
@settings(max_examples=80, deadline=None)
def test_texts_are_truncated(texts, max_length):
    _check(TextVectorizer(max_length=max_length), texts)


@pytest.mark.parametrize("lowercase", [True, False])
def test_words_of_sentences_are_normalised(lowercase):
    vectorizer = TokenVectorizer(lowercase=lowercase, zero_digits=True)
    encoded = SentenceEncoder(vectorizer).encode([["Rome", "in", "1999"], ["rome"], ["In", "2000", "x y"]])
    words = "rome in 0000 rome in 0000" if lowercase else "Rome in 0000 rome In 0000"
    assert [encoded.words[number - 1] for number in encoded.ids] == [*words.split(), "x y"]
    assert encoded.lengths.tolist() == [3, 1, 3]
    assert dict(zip(encoded.words, encoded.counts)) == Counter([*words.split(), "x y"])
