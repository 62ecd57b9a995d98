"""Taggers trained by DeLFT: its BidLSTM_CRF, with weights, labels and preprocessing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.crf_weights import ADDONS, read_crf_weights
from keras_slstm.errors import DataError
from keras_slstm.layers.cas_lstm import CASLSTM
from keras_slstm.layers.rematerialized import Dropout
from keras_slstm.models.sequence_tagger import SequenceTagger
from keras_slstm.stored_arrays import StoredArray, opened_arrays
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.vocabulary import SPECIAL_TOKENS, is_encodable
from keras_slstm.text.word_vectors import WordVectors
from keras_slstm.types import Shape, Tensor

ARCHITECTURE = "BidLSTM_CRF"
_FILES = ("config.json", "preprocessor.json", "model_weights.hdf5")
_SIZES = ("word_embedding_size", "char_embedding_size", "num_char_lstm_units", "num_word_lstm_units", "max_char_length")
_SPECIAL = ["<PAD>", "<UNK>"]
_LSTM_WEIGHTS = ("kernel", "recurrent_kernel", "bias")


def load_delft_tagger(
    folder: str | os.PathLike[str], vectors: WordVectors, scheme: str | None = None
) -> SequenceTagger:
    """Load a BidLSTM_CRF saved by DeLFT; the tagger predicts the same labels.

    The model is a BiLSTM over the characters of each word, word vectors, a BiLSTM, a dense layer with tanh, and a CRF.
    DeLFT's files do not contain the word vectors. As in DeLFT, a word is looked up in its original case with 0 for
    every digit, an unknown word has a zero vector, and the model reads the first 30 characters of a word
    (`max_char_length`). DeLFT truncates long sentences (`max_sequence_length`); this tagger does not.

    The tagger is an ordinary `SequenceTagger`: it can be trained further and saved. Label 0 of DeLFT is `<PAD>`, which
    the model may predict where it is unsure; with a `scheme` it never does.

    Args:
        folder: The folder of the model, with `config.json`, `preprocessor.json` and `model_weights.hdf5`.
        vectors: The word vectors that the model was trained with (see `load_word_vectors`).
        scheme: As in `SequenceTagger`; None to predict the same labels as DeLFT.

    Returns:
        The tagger.

    Raises:
        FileNotFoundError: If a file is missing.
        DataError: If a JSON file is damaged or lacks an entry.
        ValueError: If the model has another architecture, the vectors have another size, or the weights do not fit.

    Example:

    ```python
    vectors = keras_slstm.text.load_word_vectors("glove.840B.300d.txt")
    tagger = keras_slstm.models.load_delft_tagger("data/models/sequenceLabelling/ner", vectors, scheme="BIO")
    tagger.tag([["Ada", "lives", "in", "Rome"]])
    ```
    """
    config_file, preprocessor_file, weights = (Path(folder) / name for name in _FILES)
    config, stored = _read(config_file), _read(preprocessor_file)
    if config.get("architecture") != ARCHITECTURE:
        raise ValueError(
            f"{config_file}: expected architecture {ARCHITECTURE!r}, but got {config.get('architecture')!r}."
        )
    dim, character_dim, character_units, units, max_characters = (_size(config, name, config_file) for name in _SIZES)
    if vectors.dim != dim:
        raise ValueError(f"The model needs word vectors of size {dim}, but these have size {vectors.dim}.")
    characters = _by_number(stored, "vocab_char", preprocessor_file)
    labels = _by_number(stored, "vocab_tag", preprocessor_file)
    if characters[:2] != _SPECIAL:
        raise DataError(
            preprocessor_file, 1, f"vocab_char must begin with {_SPECIAL}, but begins with {characters[:2]}"
        )
    vectorizer = DeLFTVectorizer(max_characters)
    kept = [place for place, word in enumerate(vectors.words) if _can_be_found(vectorizer, word)]
    vectorizer.set_vocabularies([vectors.words[place] for place in kept], characters[2:])
    tagger = SequenceTagger(
        labels,
        scheme,
        TanhBiLSTM(units, _rate(config, "dropout"), _rate(config, "recurrent_dropout")),
        units,
        characters="bilstm",
        character_dim=character_dim,
        character_units=2 * character_units,
        embedding_dim=dim,
        trainable_embeddings=False,
        dropout=_rate(config, "dropout"),
        word_dropout=0.0,
        vectorizer=vectorizer,
    )
    nothing = np.zeros((len(SPECIAL_TOKENS), dim), np.float32)
    tagger.embedding.set_weights([np.concatenate([nothing, vectors.matrix[kept]])])
    with opened_arrays(weights) as arrays:
        _set_weights(tagger, arrays, weights)
    for name, value in read_crf_weights(weights, origins=(ADDONS,)).weights.items():
        getattr(tagger.head_layer, name).assign(value)
    return tagger


@keras.saving.register_keras_serializable(package="keras_slstm")
class DeLFTVectorizer(TokenVectorizer):
    """Looks up words as DeLFT does: in their original case, with 0 for every digit, and with long words truncated."""

    digits = "[0-9０-９]"
    tries_lower_case = False

    def __init__(self, max_characters: int = 30, **kwargs: Any) -> None:
        super().__init__(None, 1, False, True, max_characters, **kwargs)
        if self._characters is not None:
            self._characters.keeps_end = False

    def set_vocabularies(self, words: list[str], characters: list[str]) -> None:
        """Use these words and characters, in this order."""
        for vocabulary, entries in zip(self._vocabularies(), (words, characters), strict=True):
            vocabulary.set(entries)

    def get_config(self) -> dict[str, Any]:
        names = ("max_tokens", "min_count", "lowercase", "zero_digits")
        return {name: value for name, value in super().get_config().items() if name not in names}


@keras.saving.register_keras_serializable(package="keras_slstm")
class TanhBiLSTM(ConfigFromArguments, keras.layers.Layer):
    """A BiLSTM followed by a dense layer with tanh.

    Args:
        units: Number of units of each direction and of the dense layer.
        dropout: Fraction of the states to drop.
        recurrent_dropout: As in `keras.layers.LSTM`.

    Call arguments:
        inputs: `(batch, time, features)`.
        mask: `(batch, time)` bool.
        training: Whether to apply dropout.

    Returns:
        `(batch, time, units)`.
    """

    def __init__(self, units: int, dropout: float = 0.5, recurrent_dropout: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.dropout, self.recurrent_dropout = units, dropout, recurrent_dropout
        # A CAS-LSTM of one layer is an LSTM.
        lstm = CASLSTM(units, 1, recurrent_dropout=recurrent_dropout, return_sequences=True, dtype=self.dtype_policy)
        self.bidirectional = keras.layers.Bidirectional(lstm, name="bidirectional", dtype=self.dtype_policy)
        self.dropout_layer = Dropout(dropout, dtype=self.dtype_policy)
        self.dense = keras.layers.Dense(units, activation="tanh", name="dense", dtype=self.dtype_policy)
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        self.bidirectional.build(input_shape)
        self.dense.build((*input_shape[:2], 2 * self.units))
        self.built = True

    def call(self, inputs: Tensor, mask: Tensor | None = None, training: bool = False) -> Tensor:
        x = self.bidirectional(inputs, mask=mask, training=training)
        return self.dense(self.dropout_layer(x, training=training))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:2], self.units)


def _read(path: Path) -> Mapping[str, Any]:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: a DeLFT model consists of {', '.join(_FILES)}.")
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise DataError(path, 1, f"not valid JSON: {error}") from error
    if not isinstance(found, Mapping):
        raise DataError(path, 1, f"expected an object, but got {type(found).__name__}")
    return found


def _size(config: Mapping[str, Any], name: str, path: Path) -> int:
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise DataError(path, 1, f"{name} must be a positive integer, but is {value!r}")
    return value


def _rate(config: Mapping[str, Any], name: str) -> float:
    return float(config.get(name, 0.0))


def _by_number(stored: Mapping[str, Any], name: str, path: Path) -> list[str]:
    """The keys of a table, ordered by their numbers 0, 1, 2, ..."""
    table = stored.get(name)
    if not isinstance(table, Mapping) or not all(isinstance(number, int) for number in table.values()):
        raise DataError(path, 1, f"{name} must be an object of numbers, but is {table!r:.80}")
    if sorted(table.values()) != list(range(len(table))):
        raise DataError(
            path, 1, f"the numbers in {name} must be 0 to {len(table) - 1}, each once, but are {table!r:.80}"
        )
    return sorted(table, key=table.__getitem__)


def _can_be_found(vectorizer: TokenVectorizer, word: str) -> bool:
    return bool(word) and "\n" not in word and is_encodable(word) and vectorizer.normalize(word) == word


def _set_weights(tagger: SequenceTagger, arrays: Mapping[str, StoredArray], path: Path) -> None:
    """Set the weights below the CRF."""
    layer = tagger.character_vectors
    inner = layer.over_characters.bidirectional
    _assign([layer.embedding.embeddings], arrays, ["time_distributed/embeddings"], path)
    for side, place in (("forward", inner.forward_layer), ("backward", inner.backward_layer)):
        names = [rf"time_distributed_\d+/{side}_lstm(_\d+)?/.*\b{name}" for name in _LSTM_WEIGHTS]
        _assign(place.weights, arrays, names, path)
    inner = tagger.encoder.bidirectional
    for side, place in (("forward", inner.forward_layer), ("backward", inner.backward_layer)):
        names = [rf"bidirectional(_\d+)?/{side}_lstm(_\d+)?/.*\b{name}" for name in _LSTM_WEIGHTS]
        _assign(place.weights, arrays, names, path)
    _assign(tagger.encoder.dense.weights, arrays, [r"dense(_\d+)?/kernel", r"dense(_\d+)?/bias"], path)


def _assign(variables: Any, arrays: Mapping[str, StoredArray], patterns: list[str], path: Path) -> None:
    for variable, pattern in zip(variables, patterns, strict=True):
        found = [name for name in arrays if re.fullmatch(rf"[^/]*/{pattern}", name) and not name.startswith("crf")]
        if len(found) != 1:
            raise ValueError(
                f"{path}: expected one weight named like {pattern!r}, but found {found or sorted(arrays)}."
            )
        variable.assign(arrays[found[0]].checked(path, variable.name, tuple(variable.shape)))
