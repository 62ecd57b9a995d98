"""The tokens of many texts at once, by Python's compiled string methods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_slstm.text.text_vectorizer import TextVectorizer

END = "\0"  # the token behind each text: no token of a text, since the tokenisers take it for a space
# Latin letters whose lower case is in the set, too, the symbols between them, and typographic symbols.
_LETTER = "0-9A-Za-z_ª²³µ¹ºÀ-ÖØ-öø-\u012f\u0131-\u017f¼-¾"
_SYMBOLS = '!"#$%&()*+,-./:;<=>?@[\\]^`{|}~¡¢£¤¥¦§¨©«¬\u00ad®¯°±´¶·¸»¿×÷‘“”–—…€'
_PLAIN = rf"[ \t\n\r{_LETTER}{re.escape(_SYMBOLS)}'’]"
_NOT_PLAIN = re.compile(rf"[^{_PLAIN[1:]}")
# An apostrophe that is not inside a word. It begins the pattern, so that `re` skips to the next one.
_APOSTROPHE = re.compile(rf"'(?:(?<![{_LETTER}]')|(?![{_LETTER}]))")
_PLAIN_ASCII = bytes(code for code in range(128) if not _NOT_PLAIN.search(chr(code)))


class NumberedWords(dict[str, int]):
    """Numbers words in the order of their first occurrence, and counts them.

    0 is the end of a text, 1 the word of a text that has none, and `FIRST` the first of all words.
    """

    FIRST = 2

    def __init__(self) -> None:
        super().__init__({END: 0, END + END: 1})
        self._counts = np.zeros(0, np.int64)

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number

    def count(self, numbers: np.ndarray) -> None:
        """Count the words with these numbers."""
        found = np.bincount(numbers, minlength=len(self))
        found[: len(self._counts)] += self._counts
        self._counts = found

    @property
    def names(self) -> list[str]:
        """All words, by number from `FIRST` on."""
        return list(self)[self.FIRST :]

    @property
    def counts(self) -> list[int]:
        """How often each of them occurs."""
        return self._counts[self.FIRST :].tolist()


class EncodedTexts(NamedTuple):
    """The numbers of the words of texts, one after another, and how many each text has."""

    ids: np.ndarray
    lengths: np.ndarray


class BlockTokenizer:
    """Tokenises many texts at once, as a `TextVectorizer` does, but several times faster.

    A text in Latin letters needs no search for words: spaces around each symbol, and a cut at spaces. That is done for
    all texts of a block in a few calls of compiled string methods. Any other text (another alphabet, a control
    character), and every text if the vectoriser splits words at hyphens, goes through `TextVectorizer.tokenize`.

    Args:
        vectorizer: Its settings are used.

    Example:

    >>> tokenizer = BlockTokenizer(TextVectorizer())
    >>> [token if token != END else "(end)" for token in tokenizer.tokens(["Don't go!", "Paris"])]
    ["don't", 'go', '!', '(end)', 'paris', '(end)']
    """

    def __init__(self, vectorizer: TextVectorizer):
        self.vectorizer = vectorizer

    def tokens(self, texts: Sequence[str]) -> list[str]:
        """The tokens of all texts, in order, with the token `END` behind each text."""
        block = END.join(texts)
        if self.vectorizer.split_words or block.count(END) != len(texts) - 1:
            return self._one_by_one(texts)
        if not _is_plain(block):
            return self._mixed(texts)
        return self._plain(block)

    def encode(self, texts: Sequence[str], words: NumberedWords) -> EncodedTexts:
        """The numbers of the words of each text, cut as in `TextVectorizer.encode`; all its words are counted."""
        tokens = self.tokens(texts)
        numbers = np.fromiter(map(words.__getitem__, tokens), np.int32, len(tokens))
        words.count(numbers)
        ends = np.flatnonzero(numbers == 0)
        lengths = np.diff(ends, prepend=-1) - 1
        if not lengths.all():
            numbers = np.insert(numbers, ends[lengths == 0], 1)
            lengths = np.maximum(lengths, 1)
        longest = self.vectorizer.max_length
        if longest is not None and lengths.max(initial=0) > longest:
            places = np.arange(len(numbers)) - np.repeat(np.cumsum(lengths + 1) - (lengths + 1), lengths + 1)
            numbers = numbers[(places < longest) | (numbers == 0)]
            lengths = np.minimum(lengths, longest)
        return EncodedTexts(numbers[numbers != 0], lengths.astype(np.int32))

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
            if _is_plain(text):
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


def _is_plain(block: str) -> bool:
    if block.isascii():  # several times faster
        return not block.encode().translate(None, _PLAIN_ASCII + END.encode())
    return not _NOT_PLAIN.search(block.replace(END, " "))
