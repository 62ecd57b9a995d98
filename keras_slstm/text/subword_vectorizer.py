"""From raw text to ids of subwords and back: byte pair encoding (extra: `translation`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_slstm.errors import DataError
from keras_slstm.extras import require
from keras_slstm.text.text_vectorizer import check_at_least, check_texts

START_ID = 1
END_ID = 2
SPECIAL_IDS = 3  # padding, start and end; the subwords come behind
BYTES = 256


@keras.saving.register_keras_serializable(package="keras_slstm")
class SubwordVectorizer(keras.layers.Layer):
    """Turns texts into lists of subword ids, with byte pair encoding learned from texts, and such lists into texts.

    Sennrich, Haddow and Birch (ACL 2016), on bytes: every text can be written, nothing is unknown, and
    `decode(encode(texts))` is `texts`. Subwords never reach over a space or from letters to digits; each digit
    is one of its own, so that numbers can be read. Where the texts are of several languages, they share the subwords.

    It is a Keras layer only so that a `.keras` file of a model that holds it carries the subwords (as the asset
    `subwords.json`, in the format of the library `tokenizers`). It runs in plain Python, on every backend.

    Ids: 0 is padding, 1 the start and 2 the end of a text, neither of which `encode` writes.

    Args:
        size: Largest size of the vocabulary, the three special ids and 256 bytes included. The paper of the CAS-LSTM
            has 10,000.
        min_count: Pairs seen less often than this in `adapt` are not joined.
        max_length: Keep only this many subwords of a text. None: all.

    Raises:
        ValueError: If an argument is out of range.

    Example:

    ```python
    vectorizer = SubwordVectorizer(size=300)
    vectorizer.adapt(["the meeting begins at noon", "die Besprechung beginnt um zwölf"])
    ids = vectorizer.encode(["it begins"])
    vectorizer.decode(ids)  # ["it begins"]
    ```

    Reference:
        [Sennrich, Haddow and Birch, 2016](https://aclanthology.org/P16-1162/)
    """

    def __init__(self, size: int = 10_000, min_count: int = 2, max_length: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        check_at_least("size", size, SPECIAL_IDS + BYTES)
        check_at_least("min_count", min_count, 1)
        check_at_least("max_length", max_length, 1, optional=True)
        self.size = size
        self.min_count = min_count
        self.max_length = max_length
        self._subwords = _Subwords()
        self.built = True  # there is nothing to build: the layer has no weights

    @property
    def is_adapted(self) -> bool:
        """Whether there are subwords."""
        return self._subwords.is_there

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, the special ones included."""
        return SPECIAL_IDS + self._subwords.tokenizer.get_vocab_size()

    def adapt(self, texts: Iterable[str]) -> None:
        """Learn the subwords.

        Args:
            texts: The training texts, of all languages.

        Raises:
            ImportError: If `tokenizers` is not installed.
            ValueError: If there is no text, or something is none.
        """
        texts = list(check_texts(texts))
        if not texts:
            raise ValueError("There is no text to learn subwords from.")
        self._subwords.learn(texts, self.size - SPECIAL_IDS, self.min_count)

    def copy_subwords(self, other: SubwordVectorizer) -> None:
        """Know the subwords that another vectorizer knows."""
        self._subwords.load(other._subwords.json)

    def encode(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of the subwords of each text; none for an empty one.

        Raises:
            ValueError: If there are no subwords yet, or something is not a string.
        """
        self._check_adapted()
        return [ids[: self.max_length] for ids in self._subwords.encode(list(check_texts(texts)))]

    def decode(self, ids: Iterable[Sequence[int]]) -> list[str]:
        """The text of each list of ids. Special ids are left out; bytes that are no UTF-8 show as U+FFFD.

        Raises:
            ValueError: If there are no subwords yet.
        """
        self._check_adapted()
        return self._subwords.decode([[int(i) for i in row if i >= SPECIAL_IDS] for row in ids])

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
        except (ValueError, RecursionError) as error:  # not UTF-8, too
            raise DataError(path, getattr(error, "lineno", 1), f"the subwords are not valid JSON: {error}") from error
        self._subwords.load(content.decode("utf-8"))

    def get_config(self) -> dict[str, Any]:
        config = {"size": self.size, "min_count": self.min_count, "max_length": self.max_length}
        return {**super().get_config(), **config}


class _Subwords:
    """A tokenizer of the library, which is imported when it is needed; a Keras layer would copy its attributes."""

    def __init__(self) -> None:
        self.json = ""
        self._tokenizer: Any = None

    @property
    def is_there(self) -> bool:
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
    """The first word of a text is written as any other: behind a space."""
    return f" {text}"
