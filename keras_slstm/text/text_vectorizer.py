"""Vectoriser from raw texts to word ids: tokeniser and vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import regex

from keras_slstm.text.vocabulary import PADDING_ID, UNKNOWN_ID
from keras_slstm.text.word_vectorizer import WordVectorizer
from keras_slstm.validation import check_bool, check_choice, check_integer, check_optional_integer

# These patterns mean the same to Python's `regex` and to RE2 (`tf.strings`), so that an exported SavedModel tokenises
# as the Python code does. RE2 has no look-around, so the patterns match words instead of splitting at boundaries.
_LETTER = "[\\p{L}\\p{M}\\p{N}_\u200c\u200d]"  # with the joiners that Persian and Indic scripts need in words
_WORD_OR_SYMBOL = rf"{_LETTER}+(?:'{_LETTER}+)*|[^\p{{Z}}\p{{Cc}}]"
_SEPARATORS = r"[\p{Z}\p{Cc}]+"
_HAN = r"(\p{Han})"
_NOT_WHITESPACE = r"[^ \t\n\v\f\r]+"
# The Penn Treebank and the training texts of most word vectors split words into these parts: `do n't`, `john 's`.
CLITICS = ("n't", "'s", "'m", "'d", "'re", "'ve", "'ll")
_CLITIC = r"[nN]'[tT]|'(?:[sSmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
_HYPHEN = r"([\p{L}\p{N}])-([\p{L}\p{N}])"

_TOKENIZERS = ("words", "whitespace")


@keras.saving.register_keras_serializable(package="keras_slstm")
class TextVectorizer(WordVectorizer):
    """Turns texts into lists of word ids, with a vocabulary learned from texts.

    There are two tokenisers (the base class `WordVectorizer` has the rest):

    - `"words"`: a word is a run of letters, digits, combining marks and underscores, with apostrophes inside it
      (`don't`, `o'clock`; a typographic apostrophe counts as a plain one). Every other character that is neither a
      space nor a control character is a separate token, and so is every Han character.
    - `"whitespace"`: for text that is already tokenised. It splits only at ASCII white space (and NUL), so that unusual
      spaces (U+00A0, U+0085) stay inside tokens.

    Text is not normalised: if it mixes composed and decomposed accents, compose it (NFC) first.

    Args:
        max_tokens: Maximum size of the vocabulary, including the two special ids. None: no limit.
        min_count: Words that occur less often than this in `adapt` become the unknown word, which trains its vector.
            Words that have a vector stay. None: 2, or 1 if words that occur once make up more than a tenth of the text.
        lowercase: Whether to lower-case the text first.
        tokenizer: `"words"` or `"whitespace"`.
        split_words: Whether to split off clitics (`do n't`, `john 's`) and to split at hyphens (`well - known`), as is
            usual before training word vectors. None: `adapt` splits if more of the text then has a vector, and stores
            the choice in this attribute; without word vectors, no word is split.
        max_length: Keep only this many tokens of a text. None: all.
        max_characters: Also encode the characters of each token (`encode_characters`). Longer tokens keep half of this
            number from their beginning and half from their end. None: no characters.

    Raises:
        ValueError: If an argument is out of range.

    Example:

    >>> vectorizer = TextVectorizer()
    >>> vectorizer.adapt(["Book a flight!", "book a table"])
    >>> vectorizer.vocabulary
    ['', '[UNK]', 'a', 'book', '!', 'flight', 'table']
    >>> vectorizer.encode(["Book two flights"])
    [[3, 1, 1]]
    """

    vocabulary_file = "vocabulary.txt"

    def __init__(
        self,
        max_tokens: int | None = None,
        min_count: int | None = None,
        lowercase: bool = True,
        tokenizer: str = "words",
        max_length: int | None = None,
        max_characters: int | None = None,
        split_words: bool | None = None,
        **kwargs: Any,
    ):
        super().__init__(max_tokens, min_count, lowercase, max_characters, **kwargs)
        self.tokenizer = check_choice("tokenizer", tokenizer, _TOKENIZERS)
        self.max_length = check_optional_integer("max_length", max_length, 1)
        self.split_words = None if split_words is None else check_bool("split_words", split_words)
        self._decides = split_words is None

    def count(self, texts: Iterable[str] | Counter[str]) -> Counter[str]:
        """Count the tokens of texts once, for `adapt`, `load_word_vectors` and `WordVectors.coverage`.

        Args:
            texts: The texts, or an earlier result, whose words are split if `adapt` has decided so since.
        """
        if isinstance(texts, Counter):
            return _split_counts(texts) if self.split_words else texts
        return Counter(token for text in check_texts(texts) for token in self.tokenize(text))

    def adapt(self, texts: Iterable[str] | Counter[str], known: Iterable[str] = ()) -> None:
        """Learn the vocabulary: the most frequent words first, words of equal frequency in code-point order.

        Args:
            texts: The training texts, or the result of `count`.
            known: Words that have a vector, appended to those of the texts. Words that this tokeniser never produces
                are skipped.

        Raises:
            ValueError: If no word remains.
        """
        counts = texts if isinstance(texts, Counter) else self.count(texts)
        known = list(known)
        if self._decides:
            self.split_words = _covered(_split_counts(counts), known) > _covered(counts, known)
        if self.split_words:
            counts = _split_counts(counts)
            known = [word for word in known if self.tokenize(word) == [word] or word in CLITICS]
        else:
            known = [word for word in known if self.tokenize(word) == [word]]
        self._vocabulary.learn(counts, self.min_count, self.max_tokens, known)
        if self._characters is not None:
            self._characters.learn(counts)

    def clear(self) -> None:
        super().clear()
        if self._decides:
            self.split_words = None

    def look_ups(self, texts: Iterable[str] | Counter[str]) -> set[str]:
        """The words for `load_word_vectors`: all tokens and, if `split_words` is undecided, their split parts."""
        counts = self.count(texts)
        return {*counts, *(_split_counts(counts) if self.split_words is None else ())}

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text; an empty list for an empty text.

        >>> TextVectorizer().tokenize("Don't go to St. John's!")
        ["don't", 'go', 'to', 'st', '.', "john's", '!']
        """
        text = text.replace("\0", " ")
        if self.lowercase:
            text = text.lower()
        if self.tokenizer == "whitespace":
            tokens = regex.findall(_NOT_WHITESPACE, text)
        else:
            text = regex.sub(_HAN, r" \1 ", text.replace("’", "'"))
            tokens = regex.findall(_WORD_OR_SYMBOL, text)
        return [part for token in tokens for part in split_word(token)] if self.split_words else tokens

    def encode(self, texts: Iterable[str]) -> list[list[int]]:
        """The word ids of each text.

        Args:
            texts: Strings. A text without tokens becomes a single unknown word, because encoders need at least one
                word.

        Returns:
            A list of ids for each text.

        Raises:
            ValueError: If there is no vocabulary yet, or an element is not a string.
        """
        self._check_adapted()
        return [self._vocabulary.ids(tokens) or [UNKNOWN_ID] for tokens in self.tokenize_all(texts)]

    def encode_characters(self, texts: Iterable[str]) -> list[list[list[int]]]:
        """The character ids of each word of each text; none for the single unknown word of an empty text.

        Raises:
            ValueError: As for `encode`, or if `max_characters` is None.
        """
        return self._character_vocabulary().encode(tokens or [""] for tokens in self.tokenize_all(texts))

    def tokenize_all(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """The first `max_length` tokens of each text."""
        return (self.tokenize(text)[: self.max_length] for text in check_texts(texts))

    def describe(self) -> dict[str, Any]:
        options = {"tokenizer": self.tokenizer, "split_words": bool(self.split_words), "max_length": self.max_length}
        return {**super().describe(), **options}

    def tensorflow_function(self) -> tuple[Callable[[Any], Any], list[Any]]:
        """The same mapping as a TensorFlow function, for a SavedModel that takes raw strings.

        Returns:
            A function from a `(batch,)` string tensor to `(batch, time)` int32 ids, padded on the right (with
            characters: to a dict of these `words` and `characters`, `(batch, time, max_characters)` int32), and its
            lookup tables, which a SavedModel has to track.
        """
        import tensorflow as tf

        table = self._vocabulary.tensorflow_table()
        tables = [table]
        if self._characters is not None:
            encode_characters, characters = self._characters.tensorflow_function()
            tables.append(characters)

        def encode(texts: Any) -> Any:
            tokens = self._tensorflow_tokens(texts)
            if self.max_length is not None:
                tokens = tokens[:, : self.max_length]
            ids = table.lookup(tokens)
            empty = tf.RaggedTensor.from_row_lengths(
                tf.fill([tf.math.count_nonzero(ids.row_lengths() == 0)], tf.constant(UNKNOWN_ID, tf.int64)),
                tf.cast(ids.row_lengths() == 0, tf.int64),
            )
            words = tf.cast(tf.concat([ids, empty], axis=1).to_tensor(PADDING_ID), tf.int32)
            if self._characters is None:
                return words
            padded = tokens.to_tensor("", shape=[None, None])
            padded = tf.pad(padded, [[0, 0], [0, tf.shape(words)[1] - tf.shape(padded)[1]]], constant_values="")
            return {"words": words, "characters": encode_characters(padded)}

        return encode, tables

    def _tensorflow_tokens(self, texts: Any) -> Any:
        import tensorflow as tf

        texts = tf.strings.regex_replace(texts, r"\x00", " ")  # `lower` would cut the text there
        if self.lowercase:
            texts = tf.strings.lower(texts, encoding="utf-8")
        if self.tokenizer == "words":
            texts = tf.strings.regex_replace(texts, "’", "'")
            texts = tf.strings.regex_replace(texts, _HAN, r" \1 ")
            texts = tf.strings.regex_replace(texts, f"({_WORD_OR_SYMBOL})", r" \1 ")
            texts = tf.strings.regex_replace(texts, _SEPARATORS, " ")
        if self.split_words:
            texts = tf.strings.reduce_join(tf.strings.split(texts), axis=-1, separator=" ")
            for _ in range(2):  # `a-b-c`: a match consumes the letters on both sides
                texts = tf.strings.regex_replace(texts, _HYPHEN, r"\1 - \2")
            texts = tf.strings.regex_replace(texts + " ", rf"([^ ])({_CLITIC}) ", r"\1 \2 ")
        return tf.strings.split(texts)  # at ASCII white space only


def split_word(token: str) -> list[str]:
    """Split a token at hyphens and before a clitic.

    >>> split_word("don't"), split_word("well-known"), split_word("rome")
    (['do', "n't"], ['well', '-', 'known'], ['rome'])
    """
    if "-" not in token and "'" not in token:  # nearly all tokens, and far faster than the patterns
        return [token]
    for _ in range(2):  # `a-b-c`: a match consumes the letters on both sides
        token = regex.sub(_HYPHEN, r"\1 - \2", token)
    parts = token.split(" ")
    return [piece for part in parts for piece in regex.sub(rf"(.)({_CLITIC})$", r"\1 \2", part).split(" ")]


def _split_counts(counts: Counter[str]) -> Counter[str]:
    """Counts of the parts of split words."""
    split: Counter[str] = Counter()
    for token, count in counts.items():
        for part in split_word(token):
            split[part] += count
    return split


def _covered(counts: Counter[str], known: Sequence[str]) -> float:
    """The fraction of tokens that are known, ignoring case."""
    words = {word.lower() for word in known}
    return sum(count for word, count in counts.items() if word.lower() in words) / max(counts.total(), 1)


def pad(ids: Sequence[Sequence[int]], multiple_of: int = 1, padding: int = PADDING_ID) -> np.ndarray:
    """Pad lists of word ids on the right into one array.

    Args:
        ids: A list of ids for each sentence.
        multiple_of: The padded length is rounded up to a multiple of this, because XLA compiles once for each length.
        padding: The id that fills each row.

    Returns:
        `(len(ids), time)` int32.

    >>> pad([[2, 3, 4], [5]], multiple_of=4)
    array([[2, 3, 4, 0],
           [5, 0, 0, 0]], dtype=int32)
    """
    check_integer("multiple_of", multiple_of, 1)
    longest = max((len(row) for row in ids), default=0)
    padded = np.full((len(ids), round_up(longest, multiple_of)), padding, dtype=np.int32)
    for i, row in enumerate(ids):
        padded[i, : len(row)] = row
    return padded


def round_up(length: int, multiple_of: int) -> int:
    """The smallest positive multiple of `multiple_of` that is at least `length`."""
    return max(-(-length // multiple_of), 1) * multiple_of


def check_texts(texts: Iterable[str]) -> Iterable[str]:
    """Yield the texts; raise ValueError at the first element that is not a string."""
    if isinstance(texts, str):
        raise ValueError(f"Pass a list of texts, not one string: {texts[:50]!r}.")
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"Text {position} must be a string, but is {text!r}.")
        yield text
