"""Base class of the word vectorisers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import keras

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.text.characters import CharacterVocabulary
from keras_slstm.text.vocabulary import SPECIAL_TOKENS, Vocabulary
from keras_slstm.validation import check_optional_integer


class WordVectorizer(ConfigFromArguments, keras.layers.Layer):
    """Base class that holds the word vocabulary and, with `max_characters`, the character vocabulary.

    It is a Keras layer only so that the `.keras` file of a model contains the vocabularies (as assets). Lookup runs in
    plain Python on every backend, so the layer cannot be called on tensors. `tensorflow_function` returns the same
    mapping as a TensorFlow graph, for export.

    Args:
        max_tokens: Maximum size of the vocabulary, including the two special ids. None: no limit.
        min_count: Words that occur less often than this in `adapt` become the unknown word, which trains its vector.
            Words that have a vector stay. None: 2, or 1 if words that occur once make up more than a tenth of the text.
        lowercase: Whether words are looked up in lower case.
        max_characters: Longer words keep half of this number from their beginning and half from their end. None: no
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
        """All words by id. Ids 0 (padding) and 1 (unknown) appear as `""` and `"[UNK]"`."""
        return [*SPECIAL_TOKENS, *self._vocabulary.words]

    @property
    def characters(self) -> list[str]:
        """All characters by id, with the same two special entries."""
        return [*SPECIAL_TOKENS, *(self._characters.vocabulary.words if self._characters else ())]

    @property
    def vocabulary_size(self) -> int:
        """Number of word ids, including padding and unknown."""
        return self._vocabulary.size

    @property
    def characters_size(self) -> int:
        """Number of character ids, including padding and unknown; 0 without characters."""
        return 0 if self._characters is None else self._characters.vocabulary.size

    @property
    def is_adapted(self) -> bool:
        """Whether a vocabulary has been learned."""
        return bool(self._vocabulary.words)

    def word_ids(self, words: Iterable[str]) -> list[int]:
        """The ids of normalised words; 1 for unknown words."""
        return self._vocabulary.ids(words)

    def describe(self) -> dict[str, Any]:
        """The vocabulary and options needed to encode sentences without this package, as JSON-serialisable values."""
        known = {"vocabulary": self.vocabulary, "lowercase": self.lowercase}
        if self._characters is not None:
            known |= {"character_vocabulary": self.characters, "max_characters": self.max_characters}
        return known

    def set_vocabulary(self, words: Sequence[str]) -> None:
        """Use these words, in this order, from id 2 on.

        Raises:
            ValueError: If a word is empty, contains a line break, or occurs twice.
        """
        self._vocabulary.set(words)

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
        """The character vocabulary.

        Raises:
            ValueError: If there is no vocabulary yet, or `max_characters` is None.
        """
        self._check_adapted()
        if self._characters is None:
            raise ValueError("This vectoriser encodes no characters: create it with `max_characters`.")
        return self._characters

    def _check_adapted(self) -> None:
        if not self.is_adapted:
            raise ValueError("There is no vocabulary yet: call `adapt` with the training texts first.")
