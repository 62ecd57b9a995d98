"""Base of the vectorisers of words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import keras

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.text.characters import CharacterVocabulary
from keras_slstm.text.vocabulary import SPECIAL_TOKENS, Vocabulary
from keras_slstm.validation import check_optional_integer


class WordVectorizer(ConfigFromArguments, keras.layers.Layer):
    """Base of the vectorisers, which holds the vocabulary of words and, with `max_characters`, that of characters.

    It is a Keras layer only so that the `.keras` file of a model contains the vocabularies (as assets). The look-up
    runs in plain Python on every backend, so the layer cannot be called on tensors. `tensorflow_function` returns the
    same mapping as a TensorFlow graph, for export.

    Args:
        max_tokens: Largest size of the vocabulary, the two special ids included. None: no limit.
        min_count: Words that occur less often than this in `adapt` are left out: they are unknown words, so that the
            vector of the unknown word is trained. Words of word vectors stay. None: 2, or 1 for small texts, in which
            more than a tenth of the running words occurs once.
        lowercase: Whether words are looked up in lower case.
        max_characters: Longer words keep half as many characters of their beginning and half of their end. None: no
            characters.

    Raises:
        ValueError: If an argument is out of range.
    """

    vocabulary_file: ClassVar[str]

    def __init__(
        self, max_tokens: int | None, min_count: int | None, lowercase: bool, max_characters: int | None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.max_tokens = check_optional_integer("max_tokens", max_tokens, 3)
        self.min_count = check_optional_integer("min_count", min_count, 1)
        self.lowercase = bool(lowercase)
        self.max_characters = check_optional_integer("max_characters", max_characters, 2)
        self._vocabulary = Vocabulary()
        self._characters = None if max_characters is None else CharacterVocabulary(max_characters)
        self.built = True  # the layer has no weights

    @property
    def vocabulary(self) -> list[str]:
        """All words by id. Ids 0 (padding) and 1 (unknown) show as `""` and `"[UNK]"`."""
        return [*SPECIAL_TOKENS, *self._vocabulary.words]

    @property
    def characters(self) -> list[str]:
        """All characters by id, in the same way."""
        return [*SPECIAL_TOKENS, *(self._characters.vocabulary.words if self._characters else ())]

    @property
    def vocabulary_size(self) -> int:
        """Number of ids of words, padding and unknown included."""
        return self._vocabulary.size

    @property
    def characters_size(self) -> int:
        """Number of ids of characters, padding and unknown included; 0 without characters."""
        return 0 if self._characters is None else self._characters.vocabulary.size

    @property
    def is_adapted(self) -> bool:
        """Whether there is a vocabulary."""
        return bool(self._vocabulary.words)

    def word_ids(self, words: Iterable[str]) -> list[int]:
        """The ids of words in the form in which they are looked up; 1 for an unknown one."""
        return self._vocabulary.ids(words)

    def describe(self) -> dict[str, Any]:
        """The vocabulary and options that a program without this package needs to encode sentences, for JSON."""
        known = {"vocabulary": self.vocabulary, "lowercase": self.lowercase}
        if self._characters is not None:
            known |= {"character_vocabulary": self.characters, "max_characters": self.max_characters}
        return known

    def set_vocabulary(self, words: Sequence[str]) -> None:
        """Use these words, in this order, from id 2 on.

        Raises:
            ValueError: If a word is empty, holds a line break, or occurs twice.
        """
        self._vocabulary.set(words)

    def copy_vocabularies(self, other: Self) -> None:
        """Use the words and characters of another vectoriser."""
        for own, others in zip(self._vocabularies(), other._vocabularies(), strict=True):
            own.set(others.words)

    def clear(self) -> None:
        """Forget all words and characters."""
        for vocabulary in self._vocabularies():
            vocabulary.set([])

    def save_assets(self, dir_path: str) -> None:
        for name, vocabulary in zip((self.vocabulary_file, "characters.txt"), self._vocabularies()):
            vocabulary.save(os.path.join(dir_path, name))

    def load_assets(self, dir_path: str) -> None:
        for name, vocabulary in zip((self.vocabulary_file, "characters.txt"), self._vocabularies()):
            vocabulary.load(os.path.join(dir_path, name))

    def _vocabularies(self) -> list[Vocabulary]:
        return [self._vocabulary, *([self._characters.vocabulary] if self._characters else ())]

    def _character_vocabulary(self) -> CharacterVocabulary:
        """The characters, for encoding.

        Raises:
            ValueError: If there is no vocabulary yet, or there are no characters (`max_characters` is None).
        """
        self._check_adapted()
        if self._characters is None:
            raise ValueError("This vectoriser encodes no characters: it was made without `max_characters`.")
        return self._characters

    def _check_adapted(self) -> None:
        if not self.is_adapted:
            raise ValueError("There is no vocabulary yet: call `adapt` with the training texts first.")
