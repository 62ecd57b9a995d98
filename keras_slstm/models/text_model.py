"""Base class of the models that encode sentences and classify them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import keras
import numpy as np
from keras import ops

from keras_slstm.layers.attention_pooling import AttentionPooling
from keras_slstm.layers.character_vectors import CharacterVectors
from keras_slstm.layers.mlp import MLP, Dense
from keras_slstm.layers.pooling import MaskedGlobalAveragePooling1D, MaskedGlobalMaxPooling1D
from keras_slstm.models.contextual_encoder import check_contextual, contextual_features
from keras_slstm.models.encoders import make_encoder
from keras_slstm.models.label_names import class_weight_by_id
from keras_slstm.models.raw_data import RawDataModel
from keras_slstm.models.serving import check_tensorflow
from keras_slstm.ops.precision import accumulation_dtype
from keras_slstm.text.batches import TextBatches
from keras_slstm.text.contextual_vectors import ContextualFunction, ContextualVectors
from keras_slstm.text.text_vectorizer import PADDING_ID, UNKNOWN_ID, TextVectorizer, check_texts
from keras_slstm.text.word_vectors import WordVectors

MAX_CHARACTERS = 24  # of a word, where nothing else is asked for, as in `TokenVectorizer`
MLP_OPTIONS = ("mlp_units", "mlp_dropout", "mlp_batch_norm", "mlp_activation")
POOLINGS = {
    "attention": AttentionPooling,
    "max": MaskedGlobalMaxPooling1D,
    "mean": MaskedGlobalAveragePooling1D,
}


class TextModel(RawDataModel):
    """Base of the classifiers, which declares the options that they share.

    Vocabulary, word vectors, dropout, sentence encoder; then hidden layers, if any, and a softmax.

    A subclass says what `call` makes of the sentence vectors (`encode`) before it hands them to `decide`, and how
    many features that are.

    Args:
        outputs: Number of probabilities.
        encoder, units, encoder_options, pooling, mlp_units, mlp_dropout, mlp_batch_norm, mlp_activation,
        embedding_dim, dropout, word_dropout, embeddings_initializer, trainable_embeddings, kernel_regularizer,
        vectorizer: See `SentenceClassifier`.
        character_vectors: What gives the vectors of characters, not yet built, or None. With it, `encode` takes what
            `vectorizer` and `TextBatches` make of texts with characters: `words` and `characters`.
        contextual, trainable_contextual: See `SentenceClassifier`. With a function, `encode` takes its vectors as
            `contextual`.
        **kwargs: `name`, `dtype`.

    Raises:
        ValueError: If an argument does not fit.
    """

    labels: tuple[str, ...]

    def __init__(
        self,
        outputs: int,
        encoder: str | keras.layers.Layer,
        units: int,
        *,
        encoder_options: dict[str, Any] | None = None,
        pooling: str | None = None,
        mlp_units: Sequence[int] = (),
        mlp_dropout: float = 0.0,
        mlp_batch_norm: bool = False,
        mlp_activation: str = "relu",
        embedding_dim: int = 300,
        dropout: float = 0.5,
        word_dropout: float = 0.0,
        embeddings_initializer: Any = "uniform",
        trainable_embeddings: bool = True,
        kernel_regularizer: Any = None,
        vectorizer: TextVectorizer | dict[str, Any] | None = None,
        character_vectors: CharacterVectors | None = None,
        contextual: keras.layers.Layer | ContextualFunction | None = None,
        trainable_contextual: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if pooling is not None and pooling not in POOLINGS:
            raise ValueError(f"`pooling` must be None or one of {tuple(POOLINGS)}, but got {pooling!r}.")
        if not isinstance(embedding_dim, int) or embedding_dim < 1:
            raise ValueError(f"`embedding_dim` must be an integer of at least 1, but got {embedding_dim!r}.")
        for name, rate in (("dropout", dropout), ("word_dropout", word_dropout), ("mlp_dropout", mlp_dropout)):
            if not 0 <= rate < 1:
                raise ValueError(f"`{name}` must be in [0, 1), but got {rate!r}.")
        if isinstance(mlp_units, (str, int)):
            raise ValueError(f"`mlp_units` must be a list of the sizes of the hidden layers, but got {mlp_units!r}.")
        if not mlp_units and (mlp_dropout or mlp_batch_norm):
            raise ValueError("`mlp_dropout` and `mlp_batch_norm` need hidden layers, but `mlp_units` is empty.")
        check_contextual(contextual, trainable_contextual)
        self.encoder = make_encoder(encoder, units, encoder_options, pooling is not None, self.dtype_policy)
        if vectorizer is None or isinstance(vectorizer, dict):
            spelled = {} if character_vectors is None else {"max_characters": MAX_CHARACTERS}
            vectorizer = TextVectorizer(**{**spelled, **(vectorizer or {})})
        if (vectorizer.max_characters is None) != (character_vectors is None):
            raise ValueError(
                "A `vectorizer` with `max_characters` belongs to a model with `characters`, and only to such a model, "
                f"but its `max_characters` is {vectorizer.max_characters!r}."
            )
        self.pooling = pooling
        self.embedding_dim = embedding_dim
        self.vectorizer = vectorizer
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.trainable_embeddings = trainable_embeddings
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.mlp_units = tuple(mlp_units)
        self.mlp_dropout = mlp_dropout
        self.mlp_batch_norm = mlp_batch_norm
        self.mlp_activation = mlp_activation
        dtype = self.dtype_policy
        self.seed_generator = keras.random.SeedGenerator()
        self.character_vectors = character_vectors
        self._has_function = contextual is not None and not isinstance(contextual, keras.layers.Layer)
        if isinstance(contextual, keras.layers.Layer) and not trainable_contextual:
            contextual.trainable = False
        self.contextual: Any = contextual
        self.trainable_contextual = trainable_contextual
        self._contextual_features = 0  # known when the model is built
        self.embedding: Any = None  # its size is the vocabulary's
        self.embedding_dropout = keras.layers.Dropout(dropout, dtype=dtype)
        self.pooling_layer = None if pooling is None else POOLINGS[pooling](dtype=dtype)
        self.mlp = MLP(self.mlp_units, mlp_dropout, mlp_batch_norm, mlp_activation, dtype=dtype) if mlp_units else None
        self.head = Dense(
            outputs,
            activation="softmax",
            kernel_regularizer=kernel_regularizer,
            dtype=accumulation_dtype(self.compute_dtype),
        )

    # Vocabulary and weights.

    def learn_vocabulary(self, texts: Iterable[str], vectors: WordVectors | None) -> None:
        """Learn the vocabulary and create the weights; what `adapt` does with its texts."""
        if self.vectorizer.is_adapted:
            raise ValueError(
                f"The model has a vocabulary of {self.vectorizer.vocabulary_size} already. "
                "A new vocabulary needs a new model."
            )
        if vectors is not None and vectors.dim != self.embedding_dim:
            raise ValueError(f"`embedding_dim` is {self.embedding_dim}, but the vectors have {vectors.dim} values.")
        self.vectorizer.adapt(texts, known=() if vectors is None else vectors.words)
        try:
            self.build()
        except Exception:
            self.vectorizer.set_vocabulary([])
            raise
        if vectors is not None:
            seed = int(keras.random.randint((), 0, 2**31 - 1))  # follows `keras.utils.set_random_seed`
            self.embedding.set_weights([vectors.embedding_matrix(self.vectorizer.vocabulary, seed)])

    def build(self, input_shape: Any = None) -> None:
        """Create the weights. `adapt` does so; the vocabulary has to be there."""
        if not self.vectorizer.is_adapted:
            raise ValueError("The model has no vocabulary yet: call `adapt` with the training texts first.")
        self._build(self.vectorizer.vocabulary_size, self.vectorizer.characters_size)

    def _build(self, vocabulary_size: int, characters_size: int = 0) -> None:
        embedding = keras.layers.Embedding(
            vocabulary_size,
            self.embedding_dim,
            embeddings_initializer=self.embeddings_initializer,
            trainable=self.trainable_embeddings,
            dtype=self.dtype_policy,
        )
        embedding.build((None, None))
        contextual = contextual_features(self.contextual, self.embedding_dim, self.compute_dtype)
        features = self.embedding_dim + (self.character_vectors.units if self.character_vectors else 0) + contextual
        words = keras.KerasTensor((None, None, features), dtype=self.compute_dtype)
        mask = keras.KerasTensor((None, None), dtype="bool")
        encoded = self.encoder(words, mask=mask)
        shape = getattr(encoded, "shape", None)
        if self.pooling_layer is None:
            if shape is None or len(shape) != 2:
                raise ValueError(
                    f"Without `pooling`, the encoder has to return sentence vectors (batch, features), but "
                    f"{self.encoder.name!r} returns {shape}. Use pooling={tuple(POOLINGS)} for word vectors."
                )
        else:
            if shape is None or len(shape) != 3:
                raise ValueError(
                    f"With pooling={self.pooling!r}, the encoder has to return word vectors (batch, time, "
                    f"features), but {self.encoder.name!r} returns {shape}."
                )
            encoded = self.pooling_layer(encoded, mask=mask)
        features = self.count_features(int(encoded.shape[-1]))
        if self.mlp is not None:
            self.mlp.build((None, features))
            features = self.mlp_units[-1]
        self.head.build((None, features))
        if self.character_vectors is not None:
            self.character_vectors.build_for(characters_size)
        self._contextual_features = contextual
        self.embedding = embedding  # at last: nothing is left of a failed attempt
        self.built = True

    def count_features(self, sentence_features: int) -> int:
        """How many features `decide` gets, where a sentence vector has so many."""
        return sentence_features

    # The model proper.

    def encode(self, inputs: Any, training: bool = False) -> Any:
        """Word ids `(batch, time)`, 0 being padding, to sentence vectors `(batch, features)`.

        With characters, or contextual vectors of a function, `inputs` is a dict of `words`, these ids, and of
        `characters`, `(batch, time, width)`, and `contextual`, `(batch, time, features)`.
        """
        x, mask = self.read(inputs, training)
        return x if self.pooling_layer is None else self.pooling_layer(x, mask=mask)

    def read(self, inputs: Any, training: bool = False) -> tuple[Any, Any]:
        """Map the inputs of `encode` to the output of the encoder and the mask of the words."""
        x, mask = self.embed(inputs, training)
        return self.encoder(x, mask=mask, training=training), mask

    def embed(self, inputs: Any, training: bool = False) -> tuple[Any, Any]:
        """The inputs of the encoder: word vectors, `(batch, time, features)`, and their mask, `(batch, time)`."""
        ids = words_of(inputs)
        mask = ops.not_equal(ids, PADDING_ID)
        if training and self.word_dropout:
            lost = keras.random.uniform(ops.shape(ids), seed=self.seed_generator) < self.word_dropout
            ids = ops.where(ops.logical_and(lost, mask), UNKNOWN_ID, ids)
        x = self.embedding(ids)
        parts = [x]
        if self.character_vectors is not None:
            parts.append(self.character_vectors(inputs["characters"]))
        if self._has_function:
            parts.append(inputs["contextual"])
        elif self.contextual is not None:  # frozen, it has no dropout either
            parts.append(self.contextual(x, mask=mask, training=training and self.trainable_contextual))
        x = ops.concatenate([ops.cast(part, self.compute_dtype) for part in parts], axis=-1) if parts[1:] else x
        return self.embedding_dropout(x, training=training), mask

    def decide(self, features: Any, training: bool = False) -> Any:
        """Features to probabilities, `(batch, outputs)`."""
        if self.mlp is not None:
            features = self.mlp(features, training=training)
        return self.head(features)

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, int]:
        return (input_shape[0], self.head.units)

    # Texts in.

    def class_weight_by_id(self, class_weight: Mapping[str | int, float]) -> dict[int, float]:
        return class_weight_by_id(self.labels, class_weight)

    def predict(self, x: Any, batch_size: int | None = None, **kwargs: Any) -> np.ndarray:
        """Like `keras.Model.predict`; `x` may be a list of raw examples.

        Returns:
            Probabilities, a row for each example, in the order of `x`.
        """
        source = self._read_examples(x)
        if source is None:
            return super().predict(x, batch_size=batch_size, **kwargs)
        if not source.x:
            return np.zeros((0, self.head.units), self.head.compute_dtype)
        batches = self.batches(source.x, batch_size=batch_size or source.batch_size or 32, shuffle=False)
        return batches.restore_order(super().predict(batches, **kwargs))

    def sentence_batches(
        self, texts: Iterable[str], labels: Any = None, weights: Any = None, **options: Any
    ) -> TextBatches:
        """Batches of what `encode` takes; with the ids of labels, and weights, if there are any."""
        texts = list(check_texts(texts))
        ids = self.vectorizer.encode(texts)
        characters = None if self.character_vectors is None else self.vectorizer.encode_characters(texts)
        contextual = self.contextual_vectors(texts)
        return TextBatches(ids, labels, weights, characters=characters, contextual=contextual, **options)

    def contextual_vectors(self, texts: Sequence[str]) -> ContextualVectors | None:
        """The vectors that a `contextual` function returns for these texts; None if `contextual` is a layer or None."""
        if not self._has_function:
            return None
        tokens = list(self.vectorizer.tokenize_all(texts))
        return ContextualVectors(self.contextual, tokens, self._contextual_features)

    # Saving and export.

    def export_signature(self, *sentences: int) -> Any:
        """The inputs of `encode`, specified for `keras.Model.export`; `sentences` are sizes between batch and time."""
        batch = (None, *sentences)
        words = keras.InputSpec(shape=(*batch, None), dtype="int32")
        further = {}
        if self.character_vectors is not None:
            further["characters"] = keras.InputSpec(shape=(*batch, None, None), dtype="int32")
        if self._has_function:
            further["contextual"] = keras.InputSpec(shape=(*batch, None, self._contextual_features), dtype="float32")
        return {"words": words, **further} if further else words

    def check_text_export(self) -> None:
        """Raise an error where no SavedModel can be written that takes strings."""
        check_tensorflow("export_text")
        if self._has_function:
            raise ValueError(
                f"`export_text` cannot write the function {self.contextual!r}, which is Python: use `export`, whose "
                "model takes `contextual` beside `words`."
            )

    def get_build_config(self) -> dict[str, Any] | None:
        if not self.built:
            return None
        sizes = {"vocabulary_size": self.vectorizer.vocabulary_size}
        return (
            sizes if self.character_vectors is None else {**sizes, "characters_size": self.vectorizer.characters_size}
        )

    def build_from_config(self, config: dict[str, Any] | None) -> None:
        # The vocabulary itself is an asset, read after this.
        if config and not self.built:
            self._build(**config)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "pooling": self.pooling,
            "mlp_units": list(self.mlp_units),
            "mlp_dropout": self.mlp_dropout,
            "mlp_batch_norm": self.mlp_batch_norm,
            "mlp_activation": self.mlp_activation,
            "embedding_dim": self.embedding_dim,
            "dropout": self.dropout,
            "word_dropout": self.word_dropout,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "trainable_embeddings": self.trainable_embeddings,
            "kernel_regularizer": keras.regularizers.serialize(self.head.kernel_regularizer),
            "vectorizer": keras.saving.serialize_keras_object(self.vectorizer),
            "contextual": keras.saving.serialize_keras_object(self.contextual),
            "trainable_contextual": self.trainable_contextual,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        objects = {
            name: keras.saving.deserialize_keras_object(config.get(name), custom_objects=custom_objects)
            for name in ("encoder", "vectorizer", "contextual")
        }
        return cls(**{**config, **objects})


def words_of(inputs: Any) -> Any:
    """The word ids among the inputs of a model."""
    return inputs["words"] if isinstance(inputs, dict) else inputs


def refuse_options(model: TextModel, options: dict[str, Any], *names: str) -> None:
    """Raise TypeError if options are given that a model decides by itself."""
    refused = sorted({*names} & {*options})
    if refused:
        raise TypeError(f"{type(model).__name__} takes no {', '.join(refused)}.")
