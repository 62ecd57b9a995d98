"""Tokenises many texts at once with the compiled string functions of Python and Arrow."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_slstm.extras import require
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.token_vectorizer import TokenVectorizer

END = "\0"  # the token after each text; no text has this token, because the tokenisers treat it as a space
# Digits and Latin letters (`lower` maps each of them into the same set), and Latin-1 and typographic symbols.
_LETTER = "0-9A-Za-z_ª²³µ¹ºÀ-ÖØ-öø-\u012f\u0131-\u017f¼-¾"
_SYMBOLS = '!"#$%&()*+,-./:;<=>?@[\\]^`{|}~¡¢£¤¥¦§¨©«¬\u00ad®¯°±´¶·¸»¿×÷‘“”–—…€'
_PLAIN = rf"[ \t\n\r{_LETTER}{re.escape(_SYMBOLS)}'’]"
_NOT_PLAIN = re.compile(rf"[^{_PLAIN[1:]}")
# An apostrophe that is not inside a word. The pattern begins with a literal, so that `re` can jump to the next one.
_APOSTROPHE = re.compile(rf"'(?:(?<![{_LETTER}]')|(?![{_LETTER}]))")
_PLAIN_ASCII = bytes(code for code in range(128) if not _NOT_PLAIN.search(chr(code)))


class EncodedTexts(NamedTuple):
    """Texts as word numbers, with the list of their words.

    Attributes:
        words: The distinct words; the first one has the number 1.
        counts: How often each word occurs.
        ids: The word numbers of all texts, concatenated. A text without words has the single number 0.
        lengths: How many numbers each text has.
    """

    words: list[str]
    counts: list[int]
    ids: np.ndarray
    lengths: np.ndarray


class BlockTokenizer:
    """Finds the same tokens as a `TextVectorizer`, several times faster.

    Texts in Latin letters need no search for words: it is enough to put spaces around each symbol and to split at
    spaces. A few calls of compiled functions do this for all texts together. Texts with other characters (another
    alphabet, a control character) go through `TextVectorizer.tokenize`, as do all texts if the vectoriser splits words
    at hyphens.

    Args:
        vectorizer: The vectoriser whose settings are used.

    Example:

    >>> encoded = BlockTokenizer(TextVectorizer()).encode(["Don't go, go!", "Paris"])
    >>> encoded.words, encoded.ids.tolist(), encoded.lengths.tolist()
    (["don't", 'go', ',', '!', 'paris'], [1, 2, 3, 2, 4, 5], [5, 1])
    """

    def __init__(self, vectorizer: TextVectorizer):
        self.vectorizer = vectorizer

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Number the words of texts. Texts are truncated as in `TextVectorizer.encode`, but all words are counted."""
        arrow, compute = require("pyarrow", "stream"), require("pyarrow.compute", "stream")
        # `END` comes first so that its number is 0. Without `strip`, Arrow would find an empty token at the end.
        spaced = f"{END} {self._spaced(texts).strip(string.whitespace)}"
        tokens = compute.ascii_split_whitespace(arrow.array([spaced])).flatten().dictionary_encode()
        words, numbers = tokens.dictionary.to_pylist()[1:], tokens.indices.to_numpy()[1:]
        counts = np.bincount(numbers, minlength=len(words) + 1)[1:]
        kept = numbers != 0
        ends = np.flatnonzero(~kept)
        lengths = np.diff(ends, prepend=-1) - 1
        longest = self.vectorizer.max_length
        if longest is not None and lengths.max(initial=0) > longest:
            places = np.arange(len(numbers)) - np.repeat(ends - lengths, lengths + 1)
            kept &= places < longest
            lengths = np.minimum(lengths, longest)
        kept[ends[lengths == 0]] = True
        return EncodedTexts(words, counts.tolist(), numbers[kept], np.maximum(lengths, 1).astype(np.int32))

    def _spaced(self, texts: Sequence[str]) -> str:
        """All texts as one string in which white space separates the tokens, with `END` after each text."""
        block = END.join(texts)
        if not self.vectorizer.split_words and block.count(END) == len(texts) - 1 and _is_plain(block):
            return f"{self._plain(block)} {END}"
        plain = [not self.vectorizer.split_words and END not in text and _is_plain(text) for text in texts]
        parts = []
        for is_plain, run in itertools.groupby(zip(plain, texts), key=lambda pair: pair[0]):
            if is_plain:
                parts.append(self._plain(END.join(text for _, text in run)))
            else:
                parts += [" ".join(self.vectorizer.tokenize(text)) for _, text in run]
        return "".join(f"{part} {END} " for part in parts)

    def _plain(self, block: str) -> str:
        if self.vectorizer.lowercase:
            block = block.lower()
        if self.vectorizer.tokenizer == "words":
            block = block.replace("’", "'")
            for symbol in _SYMBOLS:
                if symbol in block:
                    block = block.replace(symbol, f" {symbol} ")
            if "'" in block:
                block = _APOSTROPHE.sub(" ' ", block)
        return block.replace(END, f" {END} ")


def _is_plain(block: str) -> bool:
    if block.isascii():  # several times faster
        return not block.encode().translate(None, _PLAIN_ASCII + END.encode())
    return not _NOT_PLAIN.search(block.replace(END, " "))


class SentenceEncoder:
    """Numbers the words of tokenised sentences, as normalised by a `TokenVectorizer`.

    Args:
        vectorizer: The vectoriser whose settings are used.

    Example:

    >>> encoded = SentenceEncoder(TokenVectorizer()).encode([["To", "Oslo"], ["to"]])
    >>> encoded.words, encoded.ids.tolist(), encoded.lengths.tolist()
    (['to', 'oslo'], [1, 2, 1], [2, 1])
    """

    def __init__(self, vectorizer: TokenVectorizer):
        self.vectorizer = vectorizer

    def encode(self, sentences: Sequence[Sequence[str]]) -> EncodedTexts:
        """Number the words of sentences. Each sentence must have at least one word."""
        tokens = [token for sentence in sentences for token in sentence]
        words: dict[str, int] = {}
        numbers = {}
        for token in dict.fromkeys(tokens):
            numbers[token] = words.setdefault(self.vectorizer.normalize(token), len(words) + 1)
        ids = np.fromiter(map(numbers.__getitem__, tokens), np.int32, len(tokens))
        counts = np.bincount(ids, minlength=len(words) + 1)[1:]
        return EncodedTexts(list(words), counts.tolist(), ids, np.fromiter(map(len, sentences), np.int32))
