"""Vectoriser of tokens into the ids of words and of their characters."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keras

from keras_slstm.text.characters import CharacterVocabulary
from keras_slstm.text.text_vectorizer import check_at_least
from keras_slstm.text.vocabulary import PADDING_ID, SPECIAL_TOKENS, UNKNOWN_ID, Vocabulary


@keras.saving.register_keras_serializable(package="keras_slstm")
class TokenVectorizer(keras.layers.Layer):
    """Turns tokenised sentences into ids of words and of characters.

    The vocabularies are learned from sentences. It is a Keras layer only so that the `.keras` file of a model
    contains them (as the assets `words.txt` and `characters.txt`). The look-up runs in plain Python on every
    backend; `tensorflow_function` returns the same mapping as a TensorFlow graph.

    A word is looked up as `normalize` writes it, in lower case by default. Without `lowercase`, a word that is
    unknown as it is written is looked up in lower case, too (for word vectors with upper case). Characters
    are those of the token as it is written.

    Args:
        max_tokens: Largest size of the vocabulary of words, the two special ids included. None: no limit.
        min_count: Words that occur less often than this in `adapt` are left out.
        lowercase: Whether words are looked up in lower case.
        zero_digits: Whether words are looked up with 0 in place of every digit: `0000-00-00` for a date.
        max_characters: Longer words keep half as many characters of their beginning and half of their end.

    Raises:
        ValueError: If an argument is out of range.

    Example:

    >>> vectorizer = TokenVectorizer()
    >>> vectorizer.adapt([["A", "flight", "to", "Oslo"], ["to", "Rome"]])
    >>> vectorizer.vocabulary
    ['', '[UNK]', 'to', 'a', 'flight', 'oslo', 'rome']
    >>> vectorizer.encode([["to", "Paris"]])
    [[2, 1]]
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        min_count: int = 1,
        lowercase: bool = True,
        zero_digits: bool = False,
        max_characters: int = 24,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_at_least("max_tokens", max_tokens, 3, optional=True)
        check_at_least("min_count", min_count, 1)
        check_at_least("max_characters", max_characters, 2)
        self.max_tokens = max_tokens
        self.min_count = min_count
        self.lowercase = bool(lowercase)
        self.zero_digits = bool(zero_digits)
        self.max_characters = max_characters
        self._words = Vocabulary()
        self._characters = CharacterVocabulary(max_characters)
        self.built = True  # the layer has no weights

    @property
    def vocabulary(self) -> list[str]:
        """All words by id. Ids 0 (padding) and 1 (unknown) show as `""` and `"[UNK]"`."""
        return [*SPECIAL_TOKENS, *self._words.words]

    @property
    def characters(self) -> list[str]:
        """All characters by id, in the same way."""
        return [*SPECIAL_TOKENS, *self._characters.vocabulary.words]

    @property
    def vocabulary_size(self) -> int:
        """Number of ids of words, padding and unknown included."""
        return self._words.size

    @property
    def characters_size(self) -> int:
        """Number of ids of characters, padding and unknown included."""
        return self._characters.vocabulary.size

    @property
    def is_adapted(self) -> bool:
        """Whether there are vocabularies."""
        return bool(self._words.words)

    def adapt(self, sentences: Iterable[Sequence[str]], known: Iterable[str] = ()) -> None:
        """Learn the vocabularies: the most frequent first, words of equal frequency in code-point order.

        Args:
            sentences: The tokens of the training sentences.
            known: Further words, put behind those of the sentences: words that have a vector already. Words that
                `normalize` changes in more than their case are left out.

        Raises:
            ValueError: If no word remains.
        """
        written = Counter(token for tokens in check_sentences(sentences) for token in tokens)
        words: Counter[str] = Counter()
        for token, count in written.items():
            words[self.normalize(token)] += count
        known = (self.normalize(word) for word in known if self.normalize(word) in (word, word.lower()))
        self._words.learn(words, self.min_count, self.max_tokens, known)
        self._characters.learn(written)

    def copy_vocabularies(self, other: TokenVectorizer) -> None:
        """Use the words and characters of another vectoriser."""
        self._words.set(other._words.words)
        self._characters.vocabulary.set(other._characters.vocabulary.words)

    def normalize(self, token: str) -> str:
        """The form in which a word is looked up.

        >>> TokenVectorizer(zero_digits=True).normalize("B-52s")
        'b-00s'
        """
        if self.lowercase:
            token = token.lower()
        return re.sub("[0-9]", "0", token) if self.zero_digits else token

    def encode(self, sentences: Iterable[Sequence[str]]) -> list[list[int]]:
        """The ids of the words of each sentence.

        Raises:
            ValueError: If there is no vocabulary yet, a sentence is not a list of tokens, or a token is empty.
        """
        self._check_adapted()
        return [[self._word_id(token) for token in tokens] for tokens in check_sentences(sentences)]

    def encode_characters(self, sentences: Iterable[Sequence[str]]) -> list[list[list[int]]]:
        """The ids of the characters of each word of each sentence, at most `max_characters` a word.

        Raises:
            ValueError: As for `encode`.
        """
        self._check_adapted()
        return self._characters.encode(check_sentences(sentences))

    def tensorflow_function(self) -> tuple[Callable[[Any], dict[str, Any]], list[Any]]:
        """The same mapping as a TensorFlow function, for a SavedModel that takes tokens as strings.

        Returns:
            A function from tokens, a `(batch, time)` string tensor in which `""` is padding, to a dict of
            `words`, `(batch, time)` int32, and `characters`, `(batch, time, characters)` int32, and its look-up
            tables, which a SavedModel has to track.
        """
        import tensorflow as tf

        words = self._words.tensorflow_table()
        encode_characters, characters = self._characters.tensorflow_function()

        def look_up(tokens: Any) -> Any:
            return words.lookup(tf.strings.regex_replace(tokens, "[0-9]", "0") if self.zero_digits else tokens)

        def encode(tokens: Any) -> dict[str, Any]:
            lower = tf.strings.lower(tokens, encoding="utf-8")
            ids = look_up(lower if self.lowercase else tokens)
            if not self.lowercase:
                ids = tf.where(ids == UNKNOWN_ID, look_up(lower), ids)
            ids = tf.where(tokens == "", tf.constant(PADDING_ID, tf.int64), ids)
            return {"words": tf.cast(ids, tf.int32), "characters": encode_characters(tokens)}

        return encode, [words, characters]

    def save_assets(self, dir_path: str) -> None:
        self._words.save(os.path.join(dir_path, "words.txt"))
        self._characters.vocabulary.save(os.path.join(dir_path, "characters.txt"))

    def load_assets(self, dir_path: str) -> None:
        self._words.load(os.path.join(dir_path, "words.txt"))
        self._characters.vocabulary.load(os.path.join(dir_path, "characters.txt"))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "max_tokens": self.max_tokens,
            "min_count": self.min_count,
            "lowercase": self.lowercase,
            "zero_digits": self.zero_digits,
            "max_characters": self.max_characters,
        }

    def _word_id(self, token: str) -> int:
        found = self._words.id(self.normalize(token))
        if found == UNKNOWN_ID and not self.lowercase:
            found = self._words.id(self.normalize(token.lower()))
        return found

    def _check_adapted(self) -> None:
        if not self.is_adapted:
            raise ValueError("There is no vocabulary yet: call `adapt(sentences)` with the training sentences first.")


def check_sentences(sentences: Iterable[Sequence[str]]) -> Iterable[Sequence[str]]:
    """Yield the sentences; raise ValueError at the first that is not a list of non-empty tokens."""
    if isinstance(sentences, str):
        raise ValueError(f"Expected a list of sentences, each a list of tokens, but got {sentences[:50]!r}.")
    for position, tokens in enumerate(sentences):
        if not isinstance(tokens, (list, tuple)):
            raise ValueError(f"Sentence {position} is not a list of tokens: {tokens!r}.")
        for place, token in enumerate(tokens):
            if not isinstance(token, str) or not token:
                raise ValueError(f"Token {place} of sentence {position} is not a non-empty string: {token!r}.")
        yield tokens
