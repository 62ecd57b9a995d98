"""Word vectors from character ids."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.char_bilstm import CharBiLSTM
from keras_slstm.layers.char_cnn import CharCNN
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_integer

CHARACTERS = ("cnn", "bilstm")


@keras.saving.register_keras_serializable(package="keras_slstm")
class CharacterVectors(ConfigFromArguments, keras.layers.Layer):
    """Embeds the characters of each word and encodes them with `CharCNN` or `CharBiLSTM`.

    Args:
        kind: `"cnn"` or `"bilstm"`.
        units: Size of the word vectors.
        dim: Size of the character embeddings.

    Call arguments:
        inputs: Ids of characters, `(batch, time, characters)`; 0 is padding.

    Returns:
        `(batch, time, units)`, zero for a word without characters.

    Raises:
        ValueError: If `kind` is unknown, a size is not a positive integer, or `units` is odd with `"bilstm"`.
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
        self.embedding: Any = None  # created by `build_for`, once the size of the vocabulary is known

    def build_for(self, characters_size: int) -> None:
        """Create the weights for a vocabulary of `characters_size` ids."""
        embedding = keras.layers.Embedding(characters_size, self.dim, dtype=self.dtype_policy)
        embedding.build((None, None, None))
        self.over_characters.build((None, None, None, self.dim))
        self.embedding = embedding
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        return self.over_characters(self.embedding(inputs), mask=ops.not_equal(inputs, 0))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:2], self.units)
