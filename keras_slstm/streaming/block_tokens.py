"""The tokens of many texts at once, by Python's compiled string methods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.vocabulary import UNKNOWN_ID

END = "\0"  # the token behind each text: no token of a text, since the tokenisers take it for a space
_END_ID = -1
# Latin letters whose lower case is in the set, too, the symbols between them, and typographic symbols.
_LETTER = "0-9A-Za-z_ª²³µ¹ºÀ-ÖØ-öø-\u012f\u0131-\u017f¼-¾"
_SYMBOLS = '!"#$%&()*+,-./:;<=>?@[\\]^`{|}~¡¢£¤¥¦§¨©«¬\u00ad®¯°±´¶·¸»¿×÷‘“”–—…€'
_PLAIN = rf"[ \t\n\r{_LETTER}{re.escape(_SYMBOLS)}'’]"
_NOT_PLAIN = re.compile(rf"[^{_PLAIN[1:]}")
# An apostrophe that is not inside a word.
_APOSTROPHE = re.compile(rf"(?<![{_LETTER}])'|'(?![{_LETTER}])")


class EncodedTexts(NamedTuple):
    """The ids of texts, one after another, and the number of ids of each text."""

    ids: np.ndarray
    lengths: np.ndarray


class BlockTokenizer:
    """Tokenises and encodes many texts at once, as a `TextVectorizer` does, but several times faster.

    A text in Latin letters needs no search for words: spaces around each symbol, and a cut at spaces. That is done for
    all texts of a block in a few calls of compiled string methods. Any other text (another alphabet, a control
    character), and every text if the vectoriser splits words at hyphens, goes through `TextVectorizer.tokenize`.

    Args:
        vectorizer: Its settings and, for `encode`, its vocabulary are used.

    Example:

    >>> tokenizer = BlockTokenizer(TextVectorizer())
    >>> [token if token != END else "(end)" for token in tokenizer.tokens(["Don't go!", "Paris"])]
    ["don't", 'go', '!', '(end)', 'paris', '(end)']
    """

    def __init__(self, vectorizer: TextVectorizer):
        self.vectorizer = vectorizer
        words = enumerate(vectorizer.vocabulary[UNKNOWN_ID + 1 :], UNKNOWN_ID + 1)
        self._ids = {**{word: number for number, word in words}, END: _END_ID}

    def tokens(self, texts: Sequence[str]) -> list[str]:
        """The tokens of all texts, in order, with the token `END` behind each text."""
        block = END.join(texts)
        if self.vectorizer.split_words or block.count(END) != len(texts) - 1:
            return self._one_by_one(texts)
        if _NOT_PLAIN.search(block.replace(END, " ")):
            return self._mixed(texts)
        return self._plain(block)

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """The ids of each text, as `TextVectorizer.encode` gives them: an empty text is a single unknown word."""
        tokens = self.tokens(texts)
        ids = np.fromiter(map(self._ids.get, tokens, repeat(UNKNOWN_ID)), np.int32, len(tokens))
        ends = np.flatnonzero(ids == _END_ID)
        lengths = np.diff(ends, prepend=-1) - 1
        if not lengths.all():
            ids = np.insert(ids, ends[lengths == 0], UNKNOWN_ID)
            lengths = np.maximum(lengths, 1)
        longest = self.vectorizer.max_length
        if longest is not None and lengths.max(initial=0) > longest:
            places = np.arange(len(ids)) - np.repeat(np.cumsum(lengths + 1) - (lengths + 1), lengths + 1)
            ids = ids[(places < longest) | (ids == _END_ID)]
            lengths = np.minimum(lengths, longest)
        return EncodedTexts(ids[ids != _END_ID], lengths.astype(np.int32))

    def _plain(self, block: str) -> list[str]:
        if self.vectorizer.lowercase:
            block = block.lower()
        if self.vectorizer.tokenizer == "words":
            block = block.replace("’", "'")
            for symbol in _SYMBOLS:
                if symbol in block:
                    block = block.replace(symbol, f" {symbol} ")
            if "'" in block:
                block = _APOSTROPHE.sub(" ' ", block)
        tokens = block.replace(END, f" {END} ").split()
        tokens.append(END)
        return tokens

    def _mixed(self, texts: Sequence[str]) -> list[str]:
        """Runs of plain texts at once, the other texts one by one."""
        tokens: list[str] = []
        plain: list[str] = []
        for text in texts:
            if not _NOT_PLAIN.search(text):
                plain.append(text)
                continue
            if plain:
                tokens += self._plain(END.join(plain))
                plain = []
            tokens += self._one_by_one([text])
        return tokens + (self._plain(END.join(plain)) if plain else [])

    def _one_by_one(self, texts: Sequence[str]) -> list[str]:
        tokens: list[str] = []
        for text in texts:
            tokens += self.vectorizer.tokenize(text)
            tokens.append(END)
        return tokens
