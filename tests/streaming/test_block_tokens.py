"""The fast tokeniser of blocks gives the tokens and ids of `TextVectorizer`."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_slstm.streaming.block_tokens import _PLAIN, END, BlockTokenizer, NumberedWords
from keras_slstm.text import TextVectorizer

pytestmark = pytest.mark.backends("torch")  # uses no tensors

# Mostly what the fast path takes, and enough of the rest: other scripts, joiners, control and no-break characters.
_CHARACTERS = st.one_of(
    st.sampled_from("aZ09_' ’.,-!?\t\n“éßµÀÿŸſ½²ªº×÷¿€…\u00ad\u0130"),
    st.characters(codec="utf-8", max_codepoint=0x24F),
    st.sampled_from("\0\x01\x1c\x1f\x7f\x85\xa0\u200b\u200d\u2028Σς漢字नमस्ते\U0001f600"),
)
_TEXTS = st.lists(st.text(_CHARACTERS, max_size=20), min_size=1, max_size=6)


def _expected(vectorizer, texts):
    return [token for text in texts for token in [*vectorizer.tokenize(text), END]]


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@pytest.mark.parametrize("lowercase", [True, False])
@given(texts=_TEXTS, split_words=st.sampled_from([None, True]))
@settings(max_examples=80, deadline=None)
def test_tokens_are_those_of_the_vectorizer(tokenizer, lowercase, texts, split_words):
    vectorizer = TextVectorizer(tokenizer=tokenizer, lowercase=lowercase, split_words=split_words)
    assert BlockTokenizer(vectorizer).tokens(texts) == _expected(vectorizer, texts)


@pytest.mark.parametrize("lowercase", [True, False])
def test_every_plain_character(lowercase):
    plain = [chr(code) for code in range(0x3000) if re.fullmatch(_PLAIN, chr(code))]
    assert len(plain) > 300
    vectorizer = TextVectorizer(lowercase=lowercase)
    texts = [
        pattern.replace("#", character) for character in plain for pattern in ("#", "a#b", "a'#", "#'a", "a#'b ##")
    ]
    assert BlockTokenizer(vectorizer).tokens(texts) == _expected(vectorizer, texts)


@given(texts=_TEXTS, max_length=st.sampled_from([None, 1, 2, 3]))
@settings(max_examples=80, deadline=None)
def test_ids_are_those_of_the_vectorizer(texts, max_length):
    vectorizer = TextVectorizer(max_length=max_length, min_count=1)
    vectorizer.adapt(["a z9 ' . é ab", *texts[:2]])
    words = NumberedWords()
    encoded = BlockTokenizer(vectorizer).encode(texts, words)
    ids = {word: number for number, word in enumerate(vectorizer.vocabulary)}
    final = np.array([1, 1, *(ids.get(word, 1) for word in words.names)])[encoded.ids]
    rows, start = [], 0
    for length in encoded.lengths:
        rows.append(final[start : start + length].tolist())
        start += length
    assert rows == vectorizer.encode(texts)
    assert start == len(final)
    assert dict(zip(words.names, words.counts)) == Counter(
        token for text in texts for token in vectorizer.tokenize(text)
    )
