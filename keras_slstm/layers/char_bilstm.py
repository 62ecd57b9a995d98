"""Word vectors from characters, by a bidirectional LSTM (Lample et al., NAACL 2016)."""

from __future__ import annotations

from typing import Any

import keras

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.cas_lstm import CASLSTM
from keras_slstm.layers.character_layer import CharacterLayer
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_features, check_integer


@keras.saving.register_keras_serializable(package="keras_slstm")
class CharBiLSTM(ConfigFromArguments, CharacterLayer):
    """Encodes the characters of each word as one vector: the two final states of a bidirectional LSTM.

    This is the character vector of Lample et al. (2016, section 4.1). Masked characters are skipped and get a gradient
    of exactly zero.

    `keras.layers.Concatenate` combines masks by *any*: next to word vectors without a mask, it masks nothing. Pass the
    mask of the words to the following layers yourself:

    ```python
    joined = keras.layers.Concatenate()([word_vectors, keras_slstm.layers.CharBiLSTM(25)(character_vectors)])
    scores = keras_slstm.layers.SLSTM(300, return_sequences=True)(joined, mask=keras.ops.not_equal(words, 0))
    ```

    Args:
        units: Size of the states, for each direction.

    Call arguments:
        inputs: Vectors of characters, `(batch, time, characters, features)`.
        mask: `(batch, time, characters)` bool, True at real characters; None if all are real. A
            `keras.layers.Embedding` with `mask_zero=True` passes it on.

    Returns:
        `(batch, time, 2 * units)` in the compute dtype: the last state of the forward LSTM, then that of the backward
        one. A word without a real character gives zeros, and is masked in the output.

    Raises:
        ValueError: If `units` is not a positive integer, the input is not of rank 4 or its number of features is
            unknown, or the mask does not match it.

    Weights:
        bidirectional/...: for each direction, the forward one first, kernel `(features, 4 units)`, recurrent kernel
            `(units, 4 units)` and bias `(4 units,)`, gate order i, f, c, o: those of `keras.layers.LSTM`.

    Example:

    ```python
    characters = keras.Input((None, None), dtype="int32")  # of each word of each sentence, 0 is padding
    vectors = keras.layers.Embedding(100, 25, mask_zero=True)(characters)
    words = keras_slstm.layers.CharBiLSTM(25)(vectors)  # (batch, time, 50)
    ```
    """

    def __init__(self, units: int = 25, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = check_integer("units", units, least=1)
        self.output_size = 2 * self.units
        # A CAS-LSTM of one layer is an LSTM. Unlike Keras' own, it takes padding anywhere, empty rows and float64.
        lstm = CASLSTM(self.units, num_layers=1, dtype=self.dtype_policy)
        self.bidirectional = keras.layers.Bidirectional(lstm, name="bidirectional", dtype=self.dtype_policy)

    def build(self, input_shape: Shape) -> None:
        features = check_features(input_shape, self.name)
        self.bidirectional.build((None, None, features))
        self.input_spec = keras.layers.InputSpec(ndim=4, axes={-1: features})
        self.built = True

    def encode(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.bidirectional(x, mask=mask, training=False)  # nothing in it depends on `training`
