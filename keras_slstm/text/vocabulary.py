"""Vocabulary of words or characters, learned from counts and saved as a text file."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_slstm.errors import DataError
from keras_slstm.text.lines import decode

PADDING_ID = 0
UNKNOWN_ID = 1
SPECIAL_TOKENS = ("", "[UNK]")  # tokens of the two special ids, as in Keras


class Vocabulary:
    """Words by id, starting at 2; id 0 is padding and id 1 the unknown word.

    Example:

    >>> vocabulary = Vocabulary()
    >>> vocabulary.learn({"a": 2, "flight": 1})
    >>> vocabulary.ids(["a", "table"])
    [2, 1]
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self._ids: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Number of ids, including padding and unknown."""
        return len(SPECIAL_TOKENS) + len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def id(self, word: str) -> int:
        """The id of a word; 1 if it is unknown."""
        return self._ids.get(word, UNKNOWN_ID)

    def ids(self, words: Iterable[str]) -> list[int]:
        """The ids of words."""
        get = self._ids.get
        return [get(word, UNKNOWN_ID) for word in words]

    def learn(
        self,
        counts: Mapping[str, int],
        min_count: int | None = None,
        max_size: int | None = None,
        known: Iterable[str] = (),
    ) -> None:
        """Learn the words: the most frequent first, words of equal frequency in code-point order.

        Args:
            counts: The number of occurrences of each word.
            min_count: Words that occur less often are dropped. None: 2, or 1 if words that occur once make up more than
                a tenth of the text (`rare_words_are_few`).
            max_size: Maximum `size`. None: no limit.
            known: Words to append to those counted.

        Raises:
            ValueError: If no word remains.
        """
        if min_count is None:
            min_count = 2 if rare_words_are_few(counts) else 1
        kept = [word for _, word in sorted((-count, word) for word, count in counts.items() if count >= min_count)]
        if not kept:
            raise ValueError(
                f"The vocabulary would be empty: no word given to `adapt` occurs at least {min_count} times "
                "(`min_count`)."
            )
        known = list(known)
        if known and not any(word in counts for word in known):
            warnings.warn(
                "No word of the texts has a vector: check that both have the same language and case.",
                stacklevel=4,
            )
        limit = None if max_size is None else max_size - len(SPECIAL_TOKENS)
        self.set(list(dict.fromkeys([*kept, *known]))[:limit])

    def set(self, words: Sequence[str]) -> None:
        """Use these words, in this order, starting at id 2.

        Raises:
            ValueError: If a word is empty, contains a line break or a lone surrogate, or occurs twice.
        """
        for word in words:
            if not isinstance(word, str) or not word or "\n" in word:
                raise ValueError(f"A word must be a non-empty string without line breaks, but got {word!r}.")
            if not is_encodable(word):
                raise ValueError(f"The word {word!r} cannot be saved as UTF-8: it contains a lone surrogate.")
        ids = {word: i for i, word in enumerate(words, start=len(SPECIAL_TOKENS))}
        if len(ids) < len(words):
            twice = Counter(words).most_common(1)[0][0]
            raise ValueError(f"The word {twice!r} occurs twice in the vocabulary.")
        self.words = list(words)
        self._ids = ids

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the words, one per line."""
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{word}\n" for word in self.words)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read a file written by `save`.

        Raises:
            DataError: If a line is empty or not UTF-8, a word occurs twice, or the last line is truncated.
        """
        lines: dict[str, int] = {}
        content = Path(path).read_bytes()
        if content and not content.endswith(b"\n"):
            raise DataError(
                path, content.count(b"\n") + 1, "the last line does not end in a line feed: the file is incomplete"
            )
        for number, line in enumerate(content.split(b"\n")[:-1], start=1):
            word = decode(path, number, line)
            if not word:
                raise DataError(path, number, "expected a word, but the line is empty")
            if word in lines:
                raise DataError(path, number, f"the word {word[:40]!r} is already in line {lines[word]}")
            lines[word] = number
        self.set(list(lines))

    def tensorflow_table(self) -> Any:
        """The same mapping as a TensorFlow lookup table from strings to int64."""
        import tensorflow as tf

        ids = tf.range(len(SPECIAL_TOKENS), self.size, dtype=tf.int64)
        words = tf.lookup.KeyValueTensorInitializer(tf.constant(self.words, tf.string), ids)
        return tf.lookup.StaticHashTable(words, default_value=UNKNOWN_ID)


def rare_words_are_few(counts: Mapping[str, int]) -> bool:
    """Whether words that occur once can be treated as unknown in training.

    A model learns little about a word from one occurrence, but all such words together train the vector of the unknown
    word. In a small text, where they make up more than a tenth, too many words would be unknown.

    >>> rare_words_are_few({"a": 20, "flight": 9, "oslo": 1}), rare_words_are_few({"a": 2, "oslo": 1})
    (True, False)
    """
    return 10 * sum(count == 1 for count in counts.values()) <= sum(counts.values())


def is_encodable(text: str) -> bool:
    """Whether a text can be written as UTF-8: a lone surrogate, which broken JSON may contain, cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
