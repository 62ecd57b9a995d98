"""A sentence classifier: text in, label names out."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_slstm.data.batches import TextBatches
from keras_slstm.data.text import PADDING_ID, UNKNOWN_ID, TextVectorizer, check_texts
from keras_slstm.data.vectors import WordVectors
from keras_slstm.layers.attention_pooling import AttentionPooling
from keras_slstm.layers.pooling import MaskedGlobalAveragePooling1D, MaskedGlobalMaxPooling1D
from keras_slstm.models.encoders import build_encoder
from keras_slstm.models.raw_data import RawDataModel
from keras_slstm.ops.masks import accumulation_dtype

_POOLINGS = {
    "attention": AttentionPooling,
    "max": MaskedGlobalMaxPooling1D,
    "mean": MaskedGlobalAveragePooling1D,
}


@keras.saving.register_keras_serializable(package="keras_slstm")
class SentenceClassifier(RawDataModel):
    """Classifies sentences: embedding, dropout, sentence encoder, softmax(g W + b).

    Texts go in and label names come out; a saved `.keras` file holds vocabulary and labels. Inside, the
    model maps word ids `(batch, time)`, 0 being padding, to probabilities `(batch, labels)`; `compile`,
    callbacks, mixed precision and saving are Keras' own.

    Args:
        labels: The label names, at least two.
        encoder: A name (see `build_encoder`), or a Keras layer that maps `(batch, time, embedding_dim)` and a
            `mask` to sentence vectors, or, with `pooling`, to word vectors.
        units: Size of the encoder's states, where it is given by name.
        encoder_options: Further arguments of an encoder given by name, such as `{"steps": 7}`.
        pooling: None for an encoder that returns sentence vectors; `"attention"`, `"max"` or `"mean"` to pool
            its word vectors. An encoder given by name returns what is needed.
        embedding_dim: Size of the word vectors.
        dropout: Dropout rate on the word vectors.
        word_dropout: Rate at which words are replaced by the unknown word in training: where the training
            texts hold none, its vector would otherwise stay untrained.
        embeddings_initializer: Initialiser of the word vectors.
        trainable_embeddings: Whether the word vectors are trained.
        kernel_regularizer: Regulariser of W.
        vectorizer: A `TextVectorizer`, or a dict of its arguments.
        **kwargs: `name`, `dtype`. A dtype reaches all layers but an encoder given as a layer.

    Raises:
        ValueError: If an argument does not fit. What concerns the encoder's output shows in `adapt`.

    Example:

    ```python
    model = keras_slstm.SentenceClassifier(["cancel", "book"], units=100, embedding_dim=100)
    model.adapt(train_texts)
    model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(train_texts, train_labels, validation_data=(dev_texts, dev_labels), epochs=5)
    model.save("intents.keras")

    model = keras.saving.load_model("intents.keras")
    model.classify(["I need a room in Rome"])  # ["book"]
    ```
    """

    def __init__(
        self,
        labels: Sequence[str],
        encoder: str | keras.layers.Layer = "slstm",
        units: int = 300,
        encoder_options: dict[str, Any] | None = None,
        pooling: str | None = None,
        embedding_dim: int = 300,
        dropout: float = 0.5,
        word_dropout: float = 0.0,
        embeddings_initializer: Any = "uniform",
        trainable_embeddings: bool = True,
        kernel_regularizer: Any = None,
        vectorizer: TextVectorizer | dict[str, Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        _check_labels(labels)
        if pooling is not None and pooling not in _POOLINGS:
            raise ValueError(f"`pooling` must be None or one of {tuple(_POOLINGS)}, but got {pooling!r}.")
        if not isinstance(embedding_dim, int) or embedding_dim < 1:
            raise ValueError(f"`embedding_dim` must be an integer of at least 1, but got {embedding_dim!r}.")
        for name, rate in (("dropout", dropout), ("word_dropout", word_dropout)):
            if not 0 <= rate < 1:
                raise ValueError(f"`{name}` must be in [0, 1), but got {rate!r}.")
        if isinstance(encoder, str):
            encoder_options = {"dtype": self.dtype_policy, **(encoder_options or {})}
            self.encoder = build_encoder(encoder, units, pooling is not None, **encoder_options)
        elif not isinstance(encoder, keras.layers.Layer):
            raise ValueError(f"`encoder` must be a name or a Keras layer, but got {encoder!r}.")
        elif encoder_options:
            raise ValueError(f"`encoder_options` are for an encoder given by name, but got {encoder!r}.")
        elif "mask" not in inspect.signature(encoder.call).parameters:
            raise ValueError(f"`encoder` has to take a `mask`, but {encoder.name!r} does not: padding would count.")
        else:
            self.encoder = encoder
        if vectorizer is None or isinstance(vectorizer, dict):
            vectorizer = TextVectorizer(**(vectorizer or {}))
        self.labels = tuple(labels)
        self.pooling = pooling
        self.embedding_dim = embedding_dim
        self.vectorizer = vectorizer
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.trainable_embeddings = trainable_embeddings
        self.word_dropout = word_dropout
        self.seed_generator = keras.random.SeedGenerator()
        self.embedding: Any = None  # its size is the vocabulary's
        self.embedding_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.pooling_layer = None if pooling is None else _POOLINGS[pooling](dtype=self.dtype_policy)
        self.head = keras.layers.Dense(
            len(self.labels),
            activation="softmax",
            kernel_regularizer=kernel_regularizer,
            dtype=accumulation_dtype(self.compute_dtype),
        )
        if self.vectorizer.is_adapted:
            self.build((None, None))

    # Vocabulary and weights.

    def adapt(self, texts: Iterable[str], vectors: WordVectors | None = None) -> None:
        """Learn the vocabulary from the training texts, and create the weights.

        Args:
            texts: The training texts.
            vectors: Word vectors to start from (see `load_word_vectors`). The words that the texts do not hold join
                the vocabulary, too. Those of the texts that have no vector get a random one.

        Raises:
            ValueError: If there is a vocabulary already, or the vectors have another size than `embedding_dim`.
        """
        if self.vectorizer.is_adapted:
            raise ValueError(
                f"The model has a vocabulary of {self.vectorizer.vocabulary_size} already. "
                "A new vocabulary needs a new model."
            )
        if vectors is not None and vectors.dim != self.embedding_dim:
            raise ValueError(f"`embedding_dim` is {self.embedding_dim}, but the vectors have {vectors.dim} values.")
        self.vectorizer.adapt(texts, known=() if vectors is None else vectors.words)
        try:
            self.build((None, None))
        except Exception:
            self.vectorizer.set_vocabulary([])
            raise
        if vectors is not None:
            seed = int(keras.random.randint((), 0, 2**31 - 1))  # follows `keras.utils.set_random_seed`
            self.embedding.set_weights([vectors.embedding_matrix(self.vectorizer.vocabulary, seed)])

    def build(self, input_shape: Any = (None, None)) -> None:
        """Create the weights. `adapt` does so; the vocabulary has to be there."""
        if not self.vectorizer.is_adapted:
            raise ValueError("The model has no vocabulary yet: call `adapt(texts)` with the training texts first.")
        self._build(self.vectorizer.vocabulary_size)

    def _build(self, vocabulary_size: int) -> None:
        embedding = keras.layers.Embedding(
            vocabulary_size,
            self.embedding_dim,
            embeddings_initializer=self.embeddings_initializer,
            trainable=self.trainable_embeddings,
            dtype=self.dtype_policy,
        )
        embedding.build((None, None))
        words = keras.KerasTensor((None, None, self.embedding_dim), dtype=self.compute_dtype)
        mask = keras.KerasTensor((None, None), dtype="bool")
        encoded = self.encoder(words, mask=mask)
        shape = getattr(encoded, "shape", None)
        if self.pooling_layer is None:
            if shape is None or len(shape) != 2:
                raise ValueError(
                    f"Without `pooling`, the encoder has to return sentence vectors (batch, features), but "
                    f"{self.encoder.name!r} returns {shape}. Use pooling={tuple(_POOLINGS)} for word vectors."
                )
        else:
            if shape is None or len(shape) != 3:
                raise ValueError(
                    f"With pooling={self.pooling!r}, the encoder has to return word vectors (batch, time, "
                    f"features), but {self.encoder.name!r} returns {shape}."
                )
            encoded = self.pooling_layer(encoded, mask=mask)
        self.head(encoded)
        self.embedding = embedding  # at last: nothing is left of a failed attempt
        self.built = True

    # The model proper.

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Word ids `(batch, time)`, 0 being padding, to probabilities `(batch, labels)`."""
        mask = ops.not_equal(inputs, PADDING_ID)
        if training and self.word_dropout:
            lost = keras.random.uniform(ops.shape(inputs), seed=self.seed_generator) < self.word_dropout
            inputs = ops.where(ops.logical_and(lost, mask), UNKNOWN_ID, inputs)
        x = self.embedding_dropout(self.embedding(inputs), training=training)
        x = self.encoder(x, mask=mask, training=training)
        if self.pooling_layer is not None:
            x = self.pooling_layer(x, mask=mask)
        return self.head(x)

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, int]:
        return (input_shape[0], len(self.labels))

    # Text in, label names out.

    def batches(
        self,
        x: Iterable[str],
        y: Iterable[str] | None = None,
        sample_weight: Sequence[float] | None = None,
        **options: Any,
    ) -> TextBatches:
        """Turn texts and label names into batches of similar length, as `fit` and the others do.

        Args:
            x: The texts.
            y: A label name for each, or None.
            sample_weight: A weight for each, or None.
            **options: Further arguments of `TextBatches`: `batch_size`, `shuffle`, `seed`, `multiple_of`.

        Raises:
            ValueError: If a label is unknown (with its position), or there is no vocabulary yet.
        """
        ids = self.vectorizer.encode(x)
        return TextBatches(ids, None if y is None else self._label_ids(y), sample_weight, **options)

    def fit(
        self, *args: Any, class_weight: dict[str | int, float] | None = None, **kwargs: Any
    ) -> keras.callbacks.History:
        """As `keras.Model.fit`. `x` and `y` may be lists of texts and of label names, and so may be those of
        `validation_data`; or `x` a `TextBatches` (see `batches`), or whatever else Keras takes. The keys of
        `class_weight` may be label names.
        """
        return super().fit(*args, class_weight=self._class_weight(class_weight), **kwargs)

    def as_examples(self, x: Any) -> list[str] | None:
        """The texts that `x` holds, or None where it holds what Keras takes."""
        if hasattr(x, "tolist"):  # NumPy, pandas
            kind = getattr(getattr(x, "dtype", None), "kind", None)
            return list(check_texts(x.tolist())) if kind in ("U", "T", "O", "S") else None
        if isinstance(x, str) or (isinstance(x, (list, tuple)) and (not x or any(isinstance(text, str) for text in x))):
            return list(check_texts(x))
        return None

    def predict(self, x: Any, batch_size: int | None = None, **kwargs: Any) -> np.ndarray:
        """As `keras.Model.predict`; `x` may be a list of texts.

        Returns:
            Probabilities, `(len(x), labels)`, in the order of `x`.
        """
        texts = self.as_examples(x)
        if texts is None:
            return super().predict(x, batch_size=batch_size, **kwargs)
        if not texts:
            return np.zeros((0, len(self.labels)), self.head.compute_dtype)
        batches = self.batches(texts, batch_size=batch_size or 32, shuffle=False)
        return batches.restore_order(super().predict(batches, **kwargs))

    def classify(
        self, texts: Sequence[str], return_probabilities: bool = False, batch_size: int = 32
    ) -> list[str] | tuple[list[str], np.ndarray]:
        """The most probable label name of each text.

        Args:
            texts: A list of texts.
            return_probabilities: Whether to return all probabilities, too.
            batch_size: Texts a batch.

        Returns:
            A list of label names; with `return_probabilities` a pair of it and the probabilities
            `(len(texts), labels)`, in the order of `self.labels`.
        """
        probabilities = self.predict(list(check_texts(texts)), batch_size=batch_size, verbose=0)
        names = [self.labels[i] for i in probabilities.argmax(axis=-1)]
        return (names, probabilities) if return_probabilities else names

    def _label_ids(self, labels: Iterable[str]) -> np.ndarray:
        known = {label: i for i, label in enumerate(self.labels)}
        ids = []
        for position, label in enumerate(labels):
            if label not in known:
                raise ValueError(
                    f"Unknown label {label!r} at position {position}. Known labels: {', '.join(self.labels)}."
                )
            ids.append(known[label])
        return np.array(ids, np.int32)

    def _class_weight(self, class_weight: dict[str | int, float] | None) -> dict[int, float] | None:
        if class_weight is None:
            return None
        known = {key: i for i, label in enumerate(self.labels) for key in (label, i)}
        for key in class_weight:
            if key not in known:
                raise ValueError(f"Unknown label {key!r} in `class_weight`. Known labels: {', '.join(self.labels)}.")
        return {known[key]: weight for key, weight in class_weight.items()}

    # Saving and export.

    def export(self, filepath: Any, format: str = "tf_saved_model", **kwargs: Any) -> Any:
        """As `keras.Model.export`: a model from word ids, `(batch, time)` int32, to probabilities."""
        kwargs.setdefault("input_signature", [keras.InputSpec(shape=(None, None), dtype="int32")])
        return super().export(filepath, format=format, **kwargs)

    def export_text(self, filepath: str) -> None:
        """Write a TensorFlow SavedModel that takes raw strings: for serving without this package.

        Its signature `serving_default` maps `texts`, a `(batch,)` string tensor, to `probabilities`,
        `(batch, labels)`, and `label`, `(batch,)` strings.

        Args:
            filepath: The folder to write.

        Raises:
            RuntimeError: If the backend is not TensorFlow.
        """
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                f"`export_text` needs the TensorFlow backend, but Keras runs on {keras.backend.backend()}. "
                "Save the model as a `.keras` file and load that with KERAS_BACKEND=tensorflow."
            )
        import tensorflow as tf

        encode, table = self.vectorizer.tensorflow_function()
        labels = tf.constant(self.labels)

        def serve(texts: Any) -> dict[str, Any]:
            probabilities = self(encode(texts), training=False)
            label = tf.gather(labels, tf.argmax(probabilities, axis=-1))
            return {"probabilities": probabilities, "label": label}

        archive = keras.export.ExportArchive()
        archive.track(self)
        archive.track(table)
        signature = [tf.TensorSpec([None], tf.string, name="texts")]
        archive.add_endpoint("serve", serve, input_signature=signature)
        archive.write_out(filepath, verbose=False)

    def get_build_config(self) -> dict[str, Any] | None:
        return {"vocabulary_size": self.vectorizer.vocabulary_size} if self.built else None

    def build_from_config(self, config: dict[str, Any] | None) -> None:
        # The vocabulary itself is an asset, read after this.
        if config and not self.built:
            self._build(config["vocabulary_size"])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "labels": list(self.labels),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "pooling": self.pooling,
            "embedding_dim": self.embedding_dim,
            "dropout": self.embedding_dropout.rate,
            "word_dropout": self.word_dropout,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "trainable_embeddings": self.trainable_embeddings,
            "kernel_regularizer": keras.regularizers.serialize(self.head.kernel_regularizer),
            "vectorizer": keras.saving.serialize_keras_object(self.vectorizer),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> SentenceClassifier:
        objects = {
            name: keras.saving.deserialize_keras_object(config[name], custom_objects=custom_objects)
            for name in ("encoder", "vectorizer")
        }
        return cls(**{**config, **objects})


def _check_labels(labels: Sequence[str]) -> None:
    if isinstance(labels, str) or not all(isinstance(label, str) and label for label in labels):
        raise ValueError(f"`labels` must be a list of non-empty strings, but got {labels!r}.")
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(f"`labels` must be at least two different names, but got {list(labels)!r}.")
