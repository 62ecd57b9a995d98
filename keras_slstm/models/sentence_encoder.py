"""Sentence vectors from a trained model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_slstm.models.esim import ESIM
from keras_slstm.models.text_classifier import TextClassifier
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.validation import check_integer


class SentenceEncoder:
    """Encodes texts as the sentence vectors that the classifier of a trained model reads.

    Args:
        model: A `SentenceClassifier`, `BCN` or `SentencePairClassifier` with a vocabulary. Each call uses the current
            weights, without dropout.
        batch_size: Texts per batch.

    Call arguments:
        texts: At least one text.

    Returns:
        `(texts, features)` float32 (float64 for a model in float64), in the order of the texts.

    Raises:
        ValueError: If the model is of another kind. `ESIM` has no sentence vectors: it compares words.

    Example:

    ```python
    encode = SentenceEncoder(keras.saving.load_model("runs/snli-full-subilstm-infersent/model.keras"))
    dog, cat = encode(["A dog runs.", "A cat sleeps."])
    ```
    """

    def __init__(self, model: TextClassifier, batch_size: int = 64):
        if not isinstance(model, TextClassifier) or isinstance(model, ESIM):
            raise ValueError(f"`model` must encode sentences as vectors, but got a {type(model).__name__}.")
        self.model = model
        self.batch_size = check_integer("batch_size", batch_size, least=1)
        self._encode = _Encode(model)

    def __call__(self, texts: Iterable[str]) -> np.ndarray:
        batches = self.model.sentence_batches(texts, batch_size=self.batch_size, shuffle=False)
        return batches.restore_order(self._encode.predict(batches, verbose=0))


class _Encode(keras.Model):
    """Wraps `encode` in a model so that `predict` compiles it on every backend."""

    def __init__(self, model: TextClassifier):
        super().__init__(name="encode", dtype=model.dtype_policy)
        self.model = model
        # On TensorFlow, XLA would take seconds to compile each length.
        self.compile(jit_compile=keras.backend.backend() == "jax")

    def call(self, inputs: Any) -> Any:
        return ops.cast(self.model.encode(inputs), accumulation_dtype(self.compute_dtype))
