"""Character ids of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from keras_slstm.text.vocabulary import PADDING_ID, Vocabulary, is_encodable

WIDTH_MULTIPLE = 8  # widths are rounded up, so that a model is compiled for few widths


class CharacterVocabulary:
    """Turns tokens into character ids, with a vocabulary learned from tokens.

    Args:
        max_characters: Longer tokens keep half of this number from their beginning and half from their end.

    Attributes:
        vocabulary: The characters.
        keeps_end: Whether long tokens keep half of the characters from their end. False: all come from their beginning.
    """

    def __init__(self, max_characters: int):
        self.max_characters = max_characters
        self.vocabulary = Vocabulary()
        self.keeps_end = True

    def learn(self, counts: Mapping[str, int]) -> None:
        """Learn the characters, the most frequent first, from the counts of the tokens."""
        characters: Counter[str] = Counter()
        for token, count in counts.items():
            for character in token:
                if character != "\n" and is_encodable(character):  # the file is UTF-8 with one character per line
                    characters[character] += count
        self.vocabulary.learn(characters)

    def encode(self, sentences: Iterable[Sequence[str]]) -> list[list[list[int]]]:
        """The character ids of each token. Equal tokens share one list: do not modify it."""
        known: dict[str, list[int]] = {}
        for tokens in (sentences := list(sentences)):
            for token in tokens:
                if token not in known:
                    known[token] = self.vocabulary.ids(self._shorten(token))
        return [[known[token] for token in tokens] for tokens in sentences]

    def tensorflow_function(self) -> tuple[Callable[[Any], Any], Any]:
        """The same mapping as a TensorFlow function, and its lookup table, which a SavedModel has to track.

        The function maps a tensor of strings to `(*its shape, max_characters)` int32.
        """
        import tensorflow as tf

        table = self.vocabulary.tensorflow_table()
        first, last = self._kept_ends

        def shorten(tokens: Any) -> Any:
            length = tf.strings.length(tokens, unit="UTF8_CHAR")
            start = tf.strings.substr(tokens, 0, first, unit="UTF8_CHAR")
            end = tf.strings.substr(
                tokens, tf.maximum(length - last, 0), tf.fill(tf.shape(length), last), unit="UTF8_CHAR"
            )
            return tf.where(length > self.max_characters, start + end, tokens)

        def encode(tokens: Any) -> Any:
            ids = table.lookup(tf.strings.unicode_split(shorten(tf.reshape(tokens, [-1])), "UTF-8"))
            ids = ids.to_tensor(PADDING_ID, shape=[None, self.max_characters])
            return tf.cast(tf.reshape(ids, tf.concat([tf.shape(tokens), [self.max_characters]], axis=0)), tf.int32)

        return encode, table

    @property
    def _kept_ends(self) -> tuple[int, int]:
        """Numbers of characters that a long token keeps from its beginning and from its end."""
        last = self.max_characters // 2 if self.keeps_end else 0
        return self.max_characters - last, last

    def _shorten(self, token: str) -> str:
        if len(token) <= self.max_characters:
            return token
        first, last = self._kept_ends
        return token[:first] + token[len(token) - last :]


def pad_characters(ids: Sequence[Sequence[Sequence[int]]], time: int, width: int) -> np.ndarray:
    """Pad lists of character ids on the right into one array.

    Args:
        ids: For each sentence, a list of ids for each of its words.
        time: Words per sentence.
        width: Characters per word.

    Returns:
        `(len(ids), time, width)` int32.

    >>> pad_characters([[[2, 3], [4]]], time=2, width=3)
    array([[[2, 3, 0],
            [4, 0, 0]]], dtype=int32)
    """
    padded = np.full((len(ids), time, width), PADDING_ID, dtype=np.int32)
    for i, words in enumerate(ids):
        for j, word in enumerate(words):
            padded[i, j, : len(word)] = word
    return padded
