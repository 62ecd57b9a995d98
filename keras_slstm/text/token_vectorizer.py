"""Vectoriser from tokens to word ids and character ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import keras

from keras_slstm.text.vocabulary import PADDING_ID, UNKNOWN_ID
from keras_slstm.text.word_vectorizer import WordVectorizer


@keras.saving.register_keras_serializable(package="keras_slstm")
class TokenVectorizer(WordVectorizer):
    """Turns tokenised sentences into word ids and character ids.

    The vocabularies are learned from sentences; see the base class `WordVectorizer`.

    A word is looked up in the form that `normalize` returns, by default in lower case. Without `lowercase`, an unknown
    word is looked up again in lower case (for cased word vectors). Characters are those of the original token.

    Args:
        max_tokens: Maximum size of the word vocabulary, including the two special ids. None: no limit.
        min_count: Words that occur less often than this in `adapt` become the unknown word, which trains its vector.
            Words that have a vector stay. None: 2, or 1 if words that occur once make up more than a tenth of the text.
        lowercase: Whether words are looked up in lower case.
        zero_digits: Whether to replace every digit by 0 before looking up a word: `0000-00-00` for a date.
        max_characters: Longer words keep half of this number from their beginning and half from their end. None: no
            characters.

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

    vocabulary_file = "words.txt"
    digits: ClassVar[str] = "[0-9]"
    tries_lower_case: ClassVar[bool] = True  # for words that are unknown in their original case

    def __init__(
        self,
        max_tokens: int | None = None,
        min_count: int | None = None,
        lowercase: bool = True,
        zero_digits: bool = False,
        max_characters: int | None = 24,
        **kwargs: Any,
    ):
        super().__init__(max_tokens, min_count, lowercase, max_characters, **kwargs)
        self.zero_digits = bool(zero_digits)

    def adapt(self, sentences: Iterable[Sequence[str]], known: Iterable[str] = ()) -> None:
        """Learn the vocabularies: the most frequent first, words of equal frequency in code-point order.

        Args:
            sentences: The tokens of the training sentences.
            known: Words that have a vector, appended to those of the sentences. Words that `normalize` changes in more
                than case are skipped.

        Raises:
            ValueError: If no word remains.
        """
        written = Counter(token for tokens in check_sentences(sentences) for token in tokens)
        words: Counter[str] = Counter()
        for token, count in written.items():
            words[self.normalize(token)] += count
        known = (self.normalize(word) for word in known if self.normalize(word) in (word, word.lower()))
        self._vocabulary.learn(words, self.min_count, self.max_tokens, known)
        if self._characters is not None:
            self._characters.learn(written)

    def count(self, sentences: Iterable[Sequence[str]]) -> Counter[str]:
        """Count the words of sentences in the form in which they are looked up."""
        return Counter(self.normalize(token) for tokens in check_sentences(sentences) for token in tokens)

    def normalize(self, token: str) -> str:
        """The form in which a word is looked up.

        >>> TokenVectorizer(zero_digits=True).normalize("B-52s")
        'b-00s'
        """
        if self.lowercase:
            token = token.lower()
        return re.sub(self.digits, "0", token) if self.zero_digits else token

    def encode(self, sentences: Iterable[Sequence[str]]) -> list[list[int]]:
        """The word ids of each sentence.

        Raises:
            ValueError: If there is no vocabulary yet, a sentence is not a list of tokens, or a token is empty.
        """
        self._check_adapted()
        return [self.word_ids(tokens) for tokens in check_sentences(sentences)]

    def word_ids(self, words: Iterable[str]) -> list[int]:
        return list(map(self._word_id, words))

    def encode_characters(self, sentences: Iterable[Sequence[str]]) -> list[list[list[int]]]:
        """The character ids of each word of each sentence, at most `max_characters` per word.

        Raises:
            ValueError: As for `encode`, or if `max_characters` is None.
        """
        return self._character_vocabulary().encode(check_sentences(sentences))

    def tokenize_all(self, sentences: Iterable[Sequence[str]]) -> Iterable[Sequence[str]]:
        """The original tokens of each sentence."""
        return check_sentences(sentences)

    def tensorflow_function(self) -> tuple[Callable[[Any], dict[str, Any]], list[Any]]:
        """The same mapping as a TensorFlow function, for a SavedModel that takes tokens as strings.

        Returns:
            A function from tokens, a `(batch, time)` string tensor in which `""` is padding, to a dict of `words`,
            `(batch, time)` int32, and `characters`, `(batch, time, characters)` int32, and its lookup tables, which a
            SavedModel has to track.
        """
        import tensorflow as tf

        words = self._vocabulary.tensorflow_table()
        tables = [words]
        if self._characters is not None:
            encode_characters, characters = self._characters.tensorflow_function()
            tables.append(characters)

        def look_up(tokens: Any) -> Any:
            return words.lookup(tf.strings.regex_replace(tokens, self.digits, "0") if self.zero_digits else tokens)

        def encode(tokens: Any) -> dict[str, Any]:
            lower = tf.strings.lower(tokens, encoding="utf-8")
            ids = look_up(lower if self.lowercase else tokens)
            if self._falls_back:
                ids = tf.where(ids == UNKNOWN_ID, look_up(lower), ids)
            ids = tf.where(tokens == "", tf.constant(PADDING_ID, tf.int64), ids)
            inputs = {"words": tf.cast(ids, tf.int32)}
            return inputs if self._characters is None else {**inputs, "characters": encode_characters(tokens)}

        return encode, tables

    @property
    def _falls_back(self) -> bool:
        return self.tries_lower_case and not self.lowercase

    def _word_id(self, token: str) -> int:
        found = self._vocabulary.id(self.normalize(token))
        if found == UNKNOWN_ID and self._falls_back:
            found = self._vocabulary.id(self.normalize(token.lower()))
        return found


def check_sentences(sentences: Iterable[Sequence[str]]) -> Iterable[Sequence[str]]:
    """Yield the sentences; raise ValueError at the first one that is not a list of non-empty tokens."""
    if isinstance(sentences, str):
        raise ValueError(f"Pass a list of sentences, each a list of tokens, not {sentences[:50]!r}.")
    for position, tokens in enumerate(sentences):
        if not isinstance(tokens, (list, tuple)):
            raise ValueError(f"Sentence {position} must be a list of tokens, but is {tokens!r}.")
        for place, token in enumerate(tokens):
            if not isinstance(token, str) or not token:
                raise ValueError(f"Token {place} of sentence {position} must be a non-empty string, but is {token!r}.")
        yield tokens
