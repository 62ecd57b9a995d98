"""Vectoriser of raw texts into word ids: tokeniser and vocabulary."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import regex

from keras_slstm.text.characters import CharacterVocabulary
from keras_slstm.text.vocabulary import PADDING_ID, SPECIAL_TOKENS, UNKNOWN_ID, Vocabulary

# These patterns mean the same to Python's `regex` and to RE2 (`tf.strings`), so that an exported SavedModel
# tokenises as the Python code does. RE2 has no look-around: words are matched, not cut at boundaries.
_LETTER = "[\\p{L}\\p{M}\\p{N}_\u200c\u200d]"  # with the joiners that Persian and Indic scripts need in words
_WORD_OR_SYMBOL = rf"{_LETTER}+(?:'{_LETTER}+)*|[^\p{{Z}}\p{{Cc}}]"
_SEPARATORS = r"[\p{Z}\p{Cc}]+"
_HAN = r"(\p{Han})"
_NOT_WHITESPACE = r"[^ \t\n\v\f\r]+"

_TOKENIZERS = ("words", "whitespace")


@keras.saving.register_keras_serializable(package="keras_slstm")
class TextVectorizer(keras.layers.Layer):
    """Turns texts into lists of word ids, with a vocabulary learned from texts.

    It is a Keras layer only so that the `.keras` file of a model contains the vocabulary (as the asset
    `vocabulary.txt`). The look-up runs in plain Python on every backend, so the layer cannot be called on tensors.
    `tensorflow_function` returns the same mapping as a TensorFlow graph, for export.

    Two tokenisers:

    - `"words"`: a word is a run of letters, digits, combining marks and underscores, with apostrophes
      inside it (`don't`, `o'clock`; a typographic apostrophe counts as a plain one). Every other character
      that is neither space nor control character is a token of its own, and so is every Han character.
    - `"whitespace"`: for text that is tokenised already. Splits at ASCII white space (and NUL) only, so that
      unusual spaces (U+00A0, U+0085) inside tokens stay.

    Text is not normalised: if it mixes composed and decomposed accents, compose it (NFC) first.

    Args:
        max_tokens: Largest size of the vocabulary, the two special ids included. None: no limit.
        min_count: Words that occur less often than this in `adapt` are left out.
        lowercase: Whether to lower-case the text first.
        tokenizer: `"words"` or `"whitespace"`.
        max_length: Keep only this many tokens of a text. None: all.
        max_characters: Encode the characters of each token, too (`encode_characters`). Longer tokens keep half as many
            characters of their beginning and half of their end. None: no characters.

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

    def __init__(
        self,
        max_tokens: int | None = None,
        min_count: int = 1,
        lowercase: bool = True,
        tokenizer: str = "words",
        max_length: int | None = None,
        max_characters: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_at_least("max_tokens", max_tokens, 3, optional=True)
        check_at_least("min_count", min_count, 1)
        check_at_least("max_length", max_length, 1, optional=True)
        check_at_least("max_characters", max_characters, 2, optional=True)
        if tokenizer not in _TOKENIZERS:
            raise ValueError(f"`tokenizer` must be one of {_TOKENIZERS}, but got {tokenizer!r}.")
        self.max_tokens = max_tokens
        self.min_count = min_count
        self.lowercase = bool(lowercase)
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.max_characters = max_characters
        self._vocabulary = Vocabulary()
        self._characters = None if max_characters is None else CharacterVocabulary(max_characters)
        self.built = True  # the layer has no weights

    @property
    def vocabulary(self) -> list[str]:
        """All tokens by id. Ids 0 (padding) and 1 (unknown) show as `""` and `"[UNK]"`."""
        return [*SPECIAL_TOKENS, *self._vocabulary.words]

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, padding and unknown included."""
        return self._vocabulary.size

    @property
    def characters_size(self) -> int:
        """Number of ids of characters, padding and unknown included; 0 without characters."""
        return 0 if self._characters is None else self._characters.vocabulary.size

    @property
    def is_adapted(self) -> bool:
        """Whether there is a vocabulary."""
        return bool(self._vocabulary.words)

    def count(self, texts: Iterable[str]) -> Counter[str]:
        """Count the tokens of texts: for `adapt`, `load_word_vectors` and `WordVectors.coverage` in one pass."""
        return Counter(token for text in check_texts(texts) for token in self.tokenize(text))

    def adapt(self, texts: Iterable[str] | Counter[str], known: Iterable[str] = ()) -> None:
        """Learn the vocabulary: the most frequent words first, words of equal frequency in code-point order.

        Args:
            texts: The training texts, or the result of `count`.
            known: Further words, put behind those of the texts: words that have a vector already. Words that this
                tokeniser never produces are left out.

        Raises:
            ValueError: If no word remains.
        """
        counts = texts if isinstance(texts, Counter) else self.count(texts)
        known = (word for word in known if self.tokenize(word) == [word])
        self._vocabulary.learn(counts, self.min_count, self.max_tokens, known)
        if self._characters is not None:
            self._characters.learn(counts)

    def set_vocabulary(self, words: Sequence[str]) -> None:
        """Use these words, in this order, from id 2 on.

        Raises:
            ValueError: If a word is empty, holds a line break, or occurs twice.
        """
        self._vocabulary.set(words)

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text; none for an empty one.

        >>> TextVectorizer().tokenize("Don't go to St. John's!")
        ["don't", 'go', 'to', 'st', '.', "john's", '!']
        """
        text = text.replace("\0", " ")
        if self.lowercase:
            text = text.lower()
        if self.tokenizer == "whitespace":
            return regex.findall(_NOT_WHITESPACE, text)
        text = regex.sub(_HAN, r" \1 ", text.replace("’", "'"))
        return regex.findall(_WORD_OR_SYMBOL, text)

    def encode(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of the words of each text.

        Args:
            texts: Strings. A text without any token becomes a single unknown word, because encoders need at least
                one word.

        Returns:
            A list of ids for each text.

        Raises:
            ValueError: If there is no vocabulary yet, or something is not a string.
        """
        self._check_adapted()
        return [self._vocabulary.ids(tokens) or [UNKNOWN_ID] for tokens in self.tokenize_all(texts)]

    def encode_characters(self, texts: Iterable[str]) -> list[list[list[int]]]:
        """The ids of the characters of each word of each text; none for the single unknown word of an empty text.

        Raises:
            ValueError: As for `encode`, or if there are no characters (`max_characters` is None).
        """
        self._check_adapted()
        if self._characters is None:
            raise ValueError("This vectoriser encodes no characters: it was made without `max_characters`.")
        return self._characters.encode(tokens or [""] for tokens in self.tokenize_all(texts))

    def tokenize_all(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """The tokens of each text, the first `max_length` of them."""
        return (self.tokenize(text)[: self.max_length] for text in check_texts(texts))

    def _check_adapted(self) -> None:
        if not self.is_adapted:
            raise ValueError("There is no vocabulary yet: call `adapt(texts)` with the training texts first.")

    def tensorflow_function(self) -> tuple[Callable[[Any], Any], list[Any]]:
        """The same mapping as a TensorFlow function, for a SavedModel that takes raw strings.

        Returns:
            A function from a `(batch,)` string tensor to `(batch, time)` int32 ids, padded on the right (with
            characters: to a dict of these `words` and of `characters`, `(batch, time, max_characters)` int32), and its
            look-up tables, which a SavedModel has to track.
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
        return tf.strings.split(texts)  # at ASCII white space

    def save_assets(self, dir_path: str) -> None:
        self._vocabulary.save(os.path.join(dir_path, "vocabulary.txt"))
        if self._characters is not None:
            self._characters.vocabulary.save(os.path.join(dir_path, "characters.txt"))

    def load_assets(self, dir_path: str) -> None:
        self._vocabulary.load(os.path.join(dir_path, "vocabulary.txt"))
        if self._characters is not None:
            self._characters.vocabulary.load(os.path.join(dir_path, "characters.txt"))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "max_tokens": self.max_tokens,
            "min_count": self.min_count,
            "lowercase": self.lowercase,
            "tokenizer": self.tokenizer,
            "max_length": self.max_length,
            "max_characters": self.max_characters,
        }


def pad(ids: Sequence[Sequence[int]], multiple_of: int = 1) -> np.ndarray:
    """Put lists of word ids into one array, with padding on the right.

    Args:
        ids: A list of ids for each sentence.
        multiple_of: The length of the array is rounded up to a multiple of this, because XLA compiles once for each
            length.

    Returns:
        `(len(ids), time)` int32.

    >>> pad([[2, 3, 4], [5]], multiple_of=4)
    array([[2, 3, 4, 0],
           [5, 0, 0, 0]], dtype=int32)
    """
    check_at_least("multiple_of", multiple_of, 1)
    longest = max((len(row) for row in ids), default=0)
    padded = np.full((len(ids), round_up(longest, multiple_of)), PADDING_ID, dtype=np.int32)
    for i, row in enumerate(ids):
        padded[i, : len(row)] = row
    return padded


def round_up(length: int, multiple_of: int) -> int:
    """The smallest multiple of `multiple_of` that is at least `length`, and at least one such multiple."""
    return max(-(-length // multiple_of), 1) * multiple_of


def check_texts(texts: Iterable[str]) -> Iterable[str]:
    """Yield the texts; raise ValueError at the first element that is not a string."""
    if isinstance(texts, str):
        raise ValueError(f"Expected a list of texts, but got one string: {texts[:50]!r}. Put it into a list.")
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"Text {position} is not a string: {text!r}.")
        yield text


def check_at_least(name: str, value: int | None, least: int, optional: bool = False) -> None:
    """Raise ValueError unless `value` is an integer of at least `least` (or None, if `optional`)."""
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        allowed = f"an integer of at least {least}" + (" or None" if optional else "")
        raise ValueError(f"`{name}` must be {allowed}, but got {value!r}.")
