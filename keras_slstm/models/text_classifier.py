"""Base class of models that encode and classify sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_slstm.layers.attention_pooling import AttentionPooling
from keras_slstm.layers.mlp import MLP, Dense
from keras_slstm.layers.pooling import MaskedGlobalAveragePooling1D, MaskedGlobalMaxPooling1D
from keras_slstm.models.labels import class_weight_by_id
from keras_slstm.models.text_model import TextModel, words_of
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.text.batches import TextBatches
from keras_slstm.text.text_vectorizer import TextVectorizer, check_texts
from keras_slstm.validation import check_rate

MLP_OPTIONS = ("mlp_units", "mlp_dropout", "mlp_batch_norm", "mlp_activation")
POOLINGS = {
    "attention": AttentionPooling,
    "max": MaskedGlobalMaxPooling1D,
    "mean": MaskedGlobalAveragePooling1D,
}


class TextClassifier(TextModel):
    """Base class of the classifiers: encoder, optional pooling, optional hidden layers, and softmax.

    In `call`, a subclass turns the sentence vectors of `encode` into the features for `decide`; `count_features`
    returns their number.

    Args:
        num_outputs: Number of probabilities.
        encoder, units, pooling, mlp_units, mlp_dropout, mlp_batch_norm, mlp_activation, kernel_regularizer: See
            `SentenceClassifier`.
        **options: Further arguments of `TextModel`.

    Raises:
        ValueError: If an argument is invalid.
    """

    vectorizer_class = TextVectorizer
    labels: tuple[str, ...]

    def __init__(
        self,
        num_outputs: int,
        encoder: str | keras.layers.Layer,
        units: int,
        *,
        pooling: str | None = None,
        mlp_units: Sequence[int] = (),
        mlp_dropout: float = 0.0,
        mlp_batch_norm: bool = False,
        mlp_activation: str = "relu",
        kernel_regularizer: Any = None,
        **options: Any,
    ):
        if pooling is not None and pooling not in POOLINGS:
            raise ValueError(f"`pooling` must be None or one of {tuple(POOLINGS)}, but got {pooling!r}.")
        if isinstance(mlp_units, (str, int)):
            raise ValueError(f"`mlp_units` must be a list of the sizes of the hidden layers, but got {mlp_units!r}.")
        check_rate("mlp_dropout", mlp_dropout)
        if not mlp_units and (mlp_dropout or mlp_batch_norm):
            raise ValueError("`mlp_dropout` and `mlp_batch_norm` need hidden layers, but `mlp_units` is empty.")
        super().__init__(encoder, units, return_sequences=pooling is not None, **options)
        if self.vectorizer.max_characters is not None and self.characters is None:
            raise ValueError(
                "A `vectorizer` with `max_characters` needs a model with `characters`, but its `max_characters` is "
                f"{self.vectorizer.max_characters!r} and `characters` is None."
            )
        self.pooling = pooling
        self.mlp_units = tuple(mlp_units)
        self.mlp_dropout = mlp_dropout
        self.mlp_batch_norm = mlp_batch_norm
        self.mlp_activation = mlp_activation
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        dtype = self.dtype_policy
        self.pooling_layer = None if pooling is None else POOLINGS[pooling](dtype=dtype)
        self.mlp = MLP(self.mlp_units, mlp_dropout, mlp_batch_norm, mlp_activation, dtype=dtype) if mlp_units else None
        self.head = Dense(
            num_outputs,
            activation="softmax",
            kernel_regularizer=self.kernel_regularizer,
            dtype=accumulation_dtype(self.compute_dtype),
        )

    def check_encoded(self, shape: tuple[int | None, ...] | None) -> None:
        wanted, name = (2 if self.pooling is None else 3), self.encoder.name
        if shape is not None and len(shape) == wanted:
            return
        if self.pooling is None:
            raise ValueError(
                f"Without `pooling`, the encoder must return sentence vectors (batch, features), but {name!r} "
                f"returns {shape}. To pool word vectors, set `pooling` to one of {tuple(POOLINGS)}."
            )
        raise ValueError(
            f"With pooling={self.pooling!r}, the encoder must return word vectors (batch, time, features), but "
            f"{name!r} returns {shape}."
        )

    def build_head(self, encoded: keras.KerasTensor, mask: keras.KerasTensor) -> None:
        if self.pooling_layer is not None:
            encoded = self.pooling_layer(encoded, mask=mask)
        features = self.count_features(int(encoded.shape[-1]))
        if self.mlp is not None:
            self.mlp.build((None, features))
            features = self.mlp_units[-1]
        self.head.build((None, features))

    def count_features(self, sentence_features: int) -> int:
        """The number of features for `decide`, given the size of a sentence vector."""
        return sentence_features

    def encode(self, inputs: Any, training: bool = False) -> Any:
        """Map word ids `(batch, time)`, with 0 as padding, to sentence vectors `(batch, features)`.

        With characters, or with contextual vectors from a function, `inputs` is a dict of `words`, these ids, and
        `characters`, `(batch, time, width)`, or `contextual`, `(batch, time, features)`.
        """
        x, mask = self.read(inputs, training)
        return x if self.pooling_layer is None else self.pooling_layer(x, mask=mask)

    def decide(self, features: Any, training: bool = False) -> Any:
        """Map features to probabilities, `(batch, outputs)`."""
        if self.mlp is not None:
            features = self.mlp(features, training=training)
        return self.head(features)

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, int]:
        return (words_of(input_shape)[0], self.head.units)

    # Texts in, label names out.

    def has_batch_norm(self) -> bool:
        return self.mlp_batch_norm

    def class_weight_by_id(self, class_weight: Mapping[str | int, float]) -> dict[int, float]:
        return class_weight_by_id(self.labels, class_weight)

    def predict(self, x: Any, batch_size: int | None = None, **kwargs: Any) -> np.ndarray:
        """Like `keras.Model.predict`; `x` may be a list of raw examples.

        Returns:
            Probabilities, one row per example, in the order of `x`.
        """
        source = self._read_examples(x)
        if source is None:
            return super().predict(x, batch_size=batch_size, **kwargs)
        if not source.x:
            return np.zeros((0, self.head.units), self.head.compute_dtype)
        batches = self.batches(source.x, batch_size=batch_size or source.batch_size or 32, shuffle=False)
        return batches.restore_order(super().predict(batches, **kwargs))

    def classify(
        self, x: Iterable[Any], return_probabilities: bool = False, batch_size: int = 32
    ) -> list[str] | tuple[list[str], np.ndarray]:
        """Return the most probable label name of each text or pair of texts.

        Args:
            x: A list of texts, or of pairs.
            return_probabilities: Whether to also return all probabilities.
            batch_size: Examples per batch.

        Returns:
            A list of label names; with `return_probabilities`, a pair of that list and the probabilities, `(examples,
            labels)`, in the order of `self.labels`.

        Raises:
            ValueError: If the model predicts scores.
        """
        if not self.labels:
            raise ValueError("This model predicts scores, not labels: use `score`.")
        probabilities = self.predict(list(self.check_examples(x)), batch_size=batch_size, verbose=0)
        names = [self.labels[i] for i in probabilities.argmax(axis=-1)]
        return (names, probabilities) if return_probabilities else names

    def sentence_batches(
        self, texts: Iterable[str], labels: Any = None, weights: Any = None, **options: Any
    ) -> TextBatches:
        """Batches of the inputs of `encode`, with label ids and weights if given."""
        columns = self.vectorize(list(check_texts(texts)))
        return TextBatches(labels=labels, sample_weight=weights, **columns, **self.batch_options(options))

    def export(self, filepath: Any, format: str = "tf_saved_model", **kwargs: Any) -> Any:
        signature = self.export_signature(*self.sentence_axes)
        if format == "tf_saved_model" and len(signature) == 1:  # a bare tensor, not a dict of one
            kwargs.setdefault("input_signature", [signature["words"]])
        return super().export(filepath, format=format, **kwargs)

    def serve(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"probabilities": self(inputs, training=False)}
