"""Vectoriser from texts to subword ids and back, with byte pair encoding (extra: `translation`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.errors import DataError
from keras_slstm.extras import require
from keras_slstm.text.text_vectorizer import check_texts
from keras_slstm.validation import check_integer, check_optional_integer

START_ID = 1
END_ID = 2
SPECIAL_IDS = 3  # padding, start and end; subwords follow
BYTES = 256


@keras.saving.register_keras_serializable(package="keras_slstm")
class SubwordVectorizer(ConfigFromArguments, keras.layers.Layer):
    """Turns texts into lists of subword ids and back, with byte pair encoding learned from texts.

    Encoding works on bytes: no text contains unknown symbols, and `decode(encode(texts))` is `texts`. Subwords never
    cross a space or a boundary between letters and digits, and each digit is a separate subword, so that a model can
    read numbers. Languages share the subwords.

    It is a Keras layer only so that the `.keras` file of a model contains the subwords (as the asset `subwords.json`,
    in the format of the `tokenizers` library). It runs in plain Python on every backend.

    Id 0 is padding, 1 the start and 2 the end of a text; `encode` adds neither start nor end.

    Args:
        max_tokens: Maximum size of the vocabulary, including the three special ids and 256 bytes. The CAS-LSTM paper
            uses 10,000.
        min_count: Pairs that occur less often than this in `adapt` are not merged.
        max_length: Keep only this many subwords of a text. None: all.

    Raises:
        ValueError: If an argument is out of range.

    Example:

    ```python
    vectorizer = SubwordVectorizer(max_tokens=300)
    vectorizer.adapt(["the meeting begins at noon", "die Besprechung beginnt um zwölf"])
    ids = vectorizer.encode(["it begins"])
    vectorizer.decode(ids)  # ["it begins"]
    ```

    Reference:
        [Sennrich, Haddow and Birch, 2016](https://aclanthology.org/P16-1162/)
    """

    former_names = {"size": "max_tokens"}

    def __init__(self, max_tokens: int = 10_000, min_count: int = 2, max_length: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.max_tokens = check_integer("max_tokens", max_tokens, SPECIAL_IDS + BYTES)
        self.min_count = check_integer("min_count", min_count, 1)
        self.max_length = check_optional_integer("max_length", max_length, 1)
        self._subwords = _Subwords()
        self.built = True  # the layer has no weights

    @property
    def is_adapted(self) -> bool:
        """Whether subwords have been learned."""
        return self._subwords.is_learned

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, including the special ones."""
        return SPECIAL_IDS + self._subwords.tokenizer.get_vocab_size()

    def adapt(self, texts: Iterable[str]) -> None:
        """Learn the subwords.

        Args:
            texts: The training texts, of all languages.

        Raises:
            ImportError: If `tokenizers` is not installed.
            ValueError: If there are no texts, or one is not a string.
        """
        texts = list(check_texts(texts))
        if not texts:
            raise ValueError("`texts` is empty: pass texts to learn subwords from.")
        self._subwords.learn(texts, self.max_tokens - SPECIAL_IDS, self.min_count)

    def encode(self, texts: Iterable[str]) -> list[list[int]]:
        """The subword ids of each text; an empty list for an empty text.

        Raises:
            ValueError: If there are no subwords yet, or an element is not a string.
        """
        self._check_adapted()
        return [ids[: self.max_length] for ids in self._subwords.encode(list(check_texts(texts)))]

    def decode(self, ids: Iterable[Sequence[int]]) -> list[str]:
        """The text of each list of ids. Special ids are skipped; invalid UTF-8 becomes U+FFFD.

        Raises:
            ValueError: If there are no subwords yet.
        """
        self._check_adapted()
        return self._subwords.decode([[int(i) for i in row if i >= SPECIAL_IDS] for row in ids])

    def describe(self) -> dict[str, Any]:
        """Everything needed to encode without this package: the subwords by id and the library's tokenizer."""
        self._check_adapted()
        return {"vocabulary": ["", "<start>", "<end>", *self._subwords.names], "tokenizer": self._subwords.json}

    def _check_adapted(self) -> None:
        if not self.is_adapted:
            raise ValueError("There are no subwords yet: call `adapt(texts)` with the training texts first.")

    def save_assets(self, dir_path: str) -> None:
        Path(dir_path, "subwords.json").write_text(self._subwords.json, encoding="utf-8")

    def load_assets(self, dir_path: str) -> None:
        path = Path(dir_path, "subwords.json")
        content = path.read_bytes()
        try:
            json.loads(content)
        except (ValueError, RecursionError) as error:  # ValueError also covers invalid UTF-8
            raise DataError(path, getattr(error, "lineno", 1), f"the subwords are not valid JSON: {error}") from error
        self._subwords.load(content.decode("utf-8"))


class _Subwords:
    """The library's tokenizer, imported on first use. As an attribute of the layer, Keras would copy it."""

    def __init__(self) -> None:
        self.json = ""
        self._tokenizer: Any = None

    @property
    def is_learned(self) -> bool:
        return bool(self.json)

    @property
    def tokenizer(self) -> Any:
        if self._tokenizer is None:
            tokenizers = require("tokenizers", "translation")
            try:
                self._tokenizer = tokenizers.Tokenizer.from_str(self.json) if self.json else _new(tokenizers)
            except Exception as error:  # the library raises nothing more specific
                raise ValueError(f"`tokenizers` cannot read the saved subwords: {error}") from error
        return self._tokenizer

    def learn(self, texts: list[str], size: int, min_count: int) -> None:
        tokenizers = require("tokenizers", "translation")
        tokenizer = _new(tokenizers)
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=min_count,
            show_progress=False,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        )
        tokenizer.train_from_iterator(map(_with_space, texts), trainer)
        self._tokenizer, self.json = tokenizer, tokenizer.to_str()

    @property
    def names(self) -> list[str]:
        vocabulary = self.tokenizer.get_vocab()
        return sorted(vocabulary, key=vocabulary.__getitem__)

    def load(self, content: str) -> None:
        self._tokenizer, self.json = None, content

    def encode(self, texts: list[str]) -> list[list[int]]:
        encoded = self.tokenizer.encode_batch(list(map(_with_space, texts)))
        return [[SPECIAL_IDS + i for i in one.ids] if text else [] for one, text in zip(encoded, texts)]

    def decode(self, ids: list[list[int]]) -> list[str]:
        decoded = self.tokenizer.decode_batch([[i - SPECIAL_IDS for i in row] for row in ids])
        return [text.removeprefix(" ") for text in decoded]


def _new(tokenizers: Any) -> Any:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False),
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
        ]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


def _with_space(text: str) -> str:
    """Prepend a space, so that the first word is encoded like any other."""
    return f" {text}"
