"""Vectors of words from the ids of their characters."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.layers.char_bilstm import CharBiLSTM
from keras_slstm.layers.char_cnn import CharCNN
from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer

CHARACTERS = ("cnn", "bilstm")


@keras.saving.register_keras_serializable(package="keras_slstm")
class CharacterVectors(keras.layers.Layer):
    """An embedding of characters, and `CharCNN` or `CharBiLSTM` over those of each word.

    Args:
        kind: `"cnn"` or `"bilstm"`.
        units: Size of the vector of a word.
        dim: Size of the vectors of characters.

    Call arguments:
        inputs: Ids of characters, `(batch, time, characters)`, 0 being padding.

    Returns:
        `(batch, time, units)`, zero for a word without characters.

    Raises:
        ValueError: If there is no such kind, a size is no positive integer, or `units` is odd with `"bilstm"`.
    """

    def __init__(self, kind: str = "cnn", units: int = 50, dim: int = 30, **kwargs: Any):
        super().__init__(**kwargs)
        if kind not in CHARACTERS:
            raise ValueError(f"`characters` must be one of {(*CHARACTERS, None)}, but got {kind!r}.")
        self.kind = kind
        self.units = check_integer("character_units", units, least=1)
        self.dim = check_integer("character_dim", dim, least=1)
        if kind == "bilstm" and units % 2:
            raise ValueError(f"`character_units` must be even for a BiLSTM, but got {units}.")
        dtype = self.dtype_policy
        self.over_characters = CharCNN(units, dtype=dtype) if kind == "cnn" else CharBiLSTM(units // 2, dtype=dtype)
        self.embedding: Any = None  # its size is that of the vocabulary

    def build_for(self, characters_size: int) -> None:
        """Create the weights, for so many ids."""
        embedding = keras.layers.Embedding(characters_size, self.dim, dtype=self.dtype_policy)
        embedding.build((None, None, None))
        self.over_characters.build((None, None, None, self.dim))
        self.embedding = embedding
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        return self.over_characters(self.embedding(inputs), mask=ops.not_equal(inputs, 0))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:2], self.units)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "kind": self.kind, "units": self.units, "dim": self.dim}
