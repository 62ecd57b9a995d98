"""A sequence tagger: sentences of tokens in, a label name for each token out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

import keras
import numpy as np
from keras import ops

from keras_slstm.layers.character_vectors import CharacterVectors
from keras_slstm.layers.crf import CRF
from keras_slstm.losses import CRFLoss
from keras_slstm.metrics import CRFAccuracy, TokenAccuracy
from keras_slstm.models.encoders import make_encoder
from keras_slstm.models.label_ids import LabelIds
from keras_slstm.models.raw_data import RawDataModel
from keras_slstm.models.serving import check_tensorflow, write_saved_model
from keras_slstm.ops.crf_functions import crf_decode, crf_marginals
from keras_slstm.ops.precision import accumulation_dtype
from keras_slstm.text.tag_schemes import tags_to_spans
from keras_slstm.text.text_vectorizer import PADDING_ID, UNKNOWN_ID
from keras_slstm.text.token_batches import TokenBatches
from keras_slstm.text.token_vectorizer import TokenVectorizer, check_sentences
from keras_slstm.text.word_vectors import WordVectors

HEADS = ("crf", "softmax")


class FoundSpan(NamedTuple):
    """Words `start` to `end - 1` of a sentence, the type of what they name, and how sure the tagger is of it.

    `confidence` is the smallest probability of the tags of its words.
    """

    type: str
    start: int
    end: int
    confidence: float


@keras.saving.register_keras_serializable(package="keras_slstm")
class SequenceTagger(RawDataModel):
    """Labels the words of sentences: words and their characters, dropout, encoder, CRF or softmax.

    Sentences are lists of tokens; label names come out. A saved `.keras` file holds vocabularies and labels. Inside,
    the model maps a dict of `words`, `(batch, time)`, and `characters`, `(batch, time, width)`, both int32 with 0 as
    padding, to the output of its head: the potentials of a `CRF`, or probabilities `(batch, time, labels)`. `compile`,
    callbacks, mixed precision and saving are Keras' own.

    Args:
        labels: The label names, at least two.
        scheme: `"BIO"` or `"BIOES"` if the labels mark spans. A CRF then gives sequences that the scheme forbids no
            probability, and training sentences that break it are rejected. None: each label stands for itself.
        encoder: A name (see `build_encoder`), or a Keras layer that maps `(batch, time, features)` and a `mask` to
            word vectors.
        units: Size of the encoder's states, where it is given by name.
        encoder_options: Further arguments of an encoder given by name, such as `{"steps": 7}`.
        head: `"crf"`, or `"softmax"` for each word by itself.
        head_options: Further arguments of `CRF` or of `keras.layers.Dense`, such as `{"pairwise": True}`.
        characters: `"cnn"` (`CharCNN`), `"bilstm"` (`CharBiLSTM`), or None for words only.
        character_dim: Size of the vectors of characters.
        character_units: Size of the vector that is made of a word's characters.
        embedding_dim: Size of the word vectors.
        dropout: Dropout rate on words (vector and characters together).
        word_dropout: Rate at which words are replaced by the unknown word in training (their characters stay): where
            the training sentences hold none, its vector would otherwise stay untrained.
        embeddings_initializer: Initialiser of the word vectors.
        trainable_embeddings: Whether the word vectors are trained.
        vectorizer: A `TokenVectorizer`, or a dict of its arguments.
        **kwargs: `name`, `dtype`. A dtype reaches all layers but an encoder given as a layer.

    Raises:
        ValueError: If an argument does not fit. What concerns the encoder's output shows in `adapt`.

    Example:

    ```python
    corpus = keras_slstm.datasets.load_tagged_corpus("travel_desk", scheme="BIOES")
    tagger = keras_slstm.SequenceTagger(corpus.label_names, scheme="BIOES", units=100, embedding_dim=100)
    tagger.adapt(corpus.train.tokens)
    tagger.compile("adam")
    tagger.fit(corpus.train.tokens, corpus.train.tags, epochs=3)
    tagger.save("slots.keras")

    tagger = keras.saving.load_model("slots.keras")
    tagger.tag([["a", "car", "in", "Rome"]])  # [["O", "O", "O", "S-city"]]
    tagger.find_spans([["a", "car", "in", "Rome"]])  # [[FoundSpan(type="city", start=3, end=4, confidence=0.99)]]
    ```
    """

    example_kind = "tokens"

    def __init__(
        self,
        labels: Sequence[str],
        scheme: str | None = None,
        encoder: str | keras.layers.Layer = "slstm",
        units: int = 300,
        *,
        encoder_options: dict[str, Any] | None = None,
        head: str = "crf",
        head_options: dict[str, Any] | None = None,
        characters: str | None = "cnn",
        character_dim: int = 30,
        character_units: int = 50,
        embedding_dim: int = 300,
        dropout: float = 0.5,
        word_dropout: float = 0.0,
        embeddings_initializer: Any = "uniform",
        trainable_embeddings: bool = True,
        vectorizer: TokenVectorizer | dict[str, Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._label_ids = LabelIds(labels, scheme)
        self.labels = self._label_ids.labels
        self.scheme = scheme
        if head not in HEADS:
            raise ValueError(f"`head` must be one of {HEADS}, but got {head!r}.")
        if not isinstance(embedding_dim, int) or embedding_dim < 1:
            raise ValueError(f"`embedding_dim` must be an integer of at least 1, but got {embedding_dim!r}.")
        for name, rate in (("dropout", dropout), ("word_dropout", word_dropout)):
            if not 0 <= rate < 1:
                raise ValueError(f"`{name}` must be in [0, 1), but got {rate!r}.")
        if vectorizer is None or isinstance(vectorizer, dict):
            vectorizer = TokenVectorizer(**(vectorizer or {}))
        self.vectorizer = vectorizer
        self.encoder = make_encoder(encoder, units, encoder_options, True, self.dtype_policy)
        self.head_name = head
        self.head_options = dict(head_options or {})
        self.head = self._make_head()
        self.characters = characters
        self.character_dim = character_dim
        self.character_units = character_units
        self.embedding_dim = embedding_dim
        self.word_dropout = word_dropout
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.trainable_embeddings = trainable_embeddings
        self.seed_generator = keras.random.SeedGenerator()
        self.dropout = dropout
        self.embedding_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.embedding: Any = None  # its size is the vocabulary's
        self.character_vectors: Any = None
        if characters is not None:
            self.character_vectors = CharacterVectors(
                characters, character_units, character_dim, dtype=self.dtype_policy
            )
        self._reader = OutputReader(head)
        if self.vectorizer.is_adapted:
            self.build()

    def _make_head(self) -> keras.layers.Layer:
        dtype = accumulation_dtype(self.compute_dtype)
        if self.head_name == "softmax":
            return keras.layers.Dense(len(self.labels), activation="softmax", dtype=dtype, **self.head_options)
        return CRF(labels=list(self.labels), scheme=self.scheme, dtype=dtype, **self.head_options)

    # Vocabulary and weights.

    def adapt(self, sentences: Iterable[Sequence[str]], vectors: WordVectors | None = None) -> None:
        """Learn the vocabularies from the training sentences, and create the weights.

        Args:
            sentences: The tokens of the training sentences.
            vectors: Word vectors to start from (see `load_word_vectors`). The words that the sentences do not hold
                join the vocabulary, too. Those of the sentences that have no vector get a random one.

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
        # A failed attempt leaves nothing behind.
        vectorizer = TokenVectorizer.from_config(self.vectorizer.get_config())
        vectorizer.adapt(sentences, known=() if vectors is None else vectors.words)
        self._build(vectorizer.vocabulary_size, vectorizer.characters_size)
        self.vectorizer.copy_vocabularies(vectorizer)
        if vectors is not None:
            seed = int(keras.random.randint((), 0, 2**31 - 1))  # follows `keras.utils.set_random_seed`
            self.embedding.set_weights([vectors.embedding_matrix(self.vectorizer.vocabulary, seed)])

    def build(self, input_shape: Any = None) -> None:
        """Create the weights. `adapt` does so; the vocabulary has to be there."""
        if not self.vectorizer.is_adapted:
            raise ValueError("The model has no vocabulary yet: call `adapt(sentences)` with the training sentences.")
        self._build(self.vectorizer.vocabulary_size, self.vectorizer.characters_size)

    def _build(self, vocabulary_size: int, characters_size: int) -> None:
        embedding = keras.layers.Embedding(
            vocabulary_size,
            self.embedding_dim,
            embeddings_initializer=self.embeddings_initializer,
            trainable=self.trainable_embeddings,
            dtype=self.dtype_policy,
        )
        embedding.build((None, None))
        features = self.embedding_dim + (self.character_units if self.characters else 0)
        words = keras.KerasTensor((None, None, features), dtype=self.compute_dtype)
        mask = keras.KerasTensor((None, None), dtype="bool")
        encoded = self.encoder(words, mask=mask)
        shape = getattr(encoded, "shape", None)
        if shape is None or len(shape) != 3:
            raise ValueError(
                f"The encoder has to return word vectors (batch, time, features), but {self.encoder.name!r} returns "
                f"{shape}. Keras' recurrent layers do with `return_sequences=True`."
            )
        self.head.build(shape)
        if self.character_vectors is not None:
            self.character_vectors.build_for(characters_size)
        self.embedding = embedding  # at last: nothing is left of a failed attempt
        self.built = True

    # The model proper.

    def call(self, inputs: Mapping[str, Any], training: bool = False) -> Any:
        """Ids of words and characters to the output of the head."""
        words = inputs["words"]
        mask = ops.not_equal(words, PADDING_ID)
        if training and self.word_dropout:
            lost = keras.random.uniform(ops.shape(words), seed=self.seed_generator) < self.word_dropout
            words = ops.where(ops.logical_and(lost, mask), UNKNOWN_ID, words)
        x = self.embedding(words)
        if self.character_vectors is not None:
            x = ops.concatenate([x, self.character_vectors(inputs["characters"])], axis=-1)
        x = self.encoder(self.embedding_dropout(x, training=training), mask=mask, training=training)
        return self.head(x, mask=mask) if self.head_name == "crf" else self.head(x)

    def default_loss(self) -> Any:
        if self.head_name == "crf":
            return CRFLoss()
        return keras.losses.SparseCategoricalCrossentropy(ignore_class=-1, name="crossentropy")

    def default_metrics(self) -> list[Any]:
        return [(CRFAccuracy if self.head_name == "crf" else TokenAccuracy)(name="accuracy")]

    def compile(self, optimizer: Any = "rmsprop", loss: Any = None, metrics: Any = None, **kwargs: Any) -> None:
        """Like `keras.Model.compile`, with the loss and the accuracy that the head needs as defaults.

        They are `CRFLoss` and `CRFAccuracy`, or, for softmax, cross-entropy and `TokenAccuracy`, which leave out words
        whose label is -1; the accuracy is named `accuracy`. `metrics=[]` saves the time that the accuracy takes.

        Raises:
            ValueError: If the loss does not fit the head.
        """
        of_crf = isinstance(loss, CRFLoss)
        from_keras = type(keras.losses.get(loss)).__module__.startswith("keras.") or isinstance(loss, str)
        if self.head_name == "crf" and loss is not None and from_keras and not of_crf:
            raise ValueError(f"With head='crf' the loss must be `CRFLoss()`, the default, but got {loss!r}.")
        if self.head_name == "softmax" and of_crf:
            raise ValueError("`CRFLoss` needs head='crf', but this model has head='softmax'.")
        super().compile(optimizer, loss, metrics, **kwargs)

    # Tokens in, label names out.

    def as_examples(self, x: Any) -> list[Sequence[str]] | None:
        """The sentences that `x` holds, or None where it holds what Keras takes."""
        if isinstance(x, str):
            raise ValueError(f"Expected a list of sentences, each a list of tokens, but got {x[:50]!r}.")
        if isinstance(x, (list, tuple)) and (not x or isinstance(x[0], (list, tuple, str))):
            return list(check_sentences(x))
        return None

    def batches(
        self,
        x: Iterable[Sequence[str]],
        y: Iterable[Sequence[str | None]] | None = None,
        sample_weight: Sequence[float] | None = None,
        **options: Any,
    ) -> TokenBatches:
        """Turn sentences and label names into batches of similar length, as `fit` and the others do.

        Args:
            x: The tokens of the sentences.
            y: The labels of their tokens, None where a label is not known; or None.
            sample_weight: A weight for each sentence, or None.
            **options: Further arguments of `TokenBatches`: `batch_size`, `shuffle`, `seed`, `multiple_of`.

        Raises:
            ValueError: If a label is unknown or breaks the scheme (with its position), or there is no vocabulary yet.
        """
        sentences = list(check_sentences(x))
        ids = self.vectorizer.encode(sentences)
        characters = self.vectorizer.encode_characters(sentences) if self.characters else None
        labels = None if y is None else self._label_ids.encode(y)
        return TokenBatches(ids, characters, labels, sample_weight, **options)

    def predict(self, x: Any, batch_size: int | None = None, **kwargs: Any) -> Any:
        """Like `keras.Model.predict`; for a list of sentences, the probabilities of all labels of their words.

        With a CRF, these are its marginals.

        Returns:
            For sentences, a list of arrays `(words, labels)`, in the order of `x`.
        """
        source = self._read_examples(x)
        if source is None:
            return super().predict(x, batch_size=batch_size, **kwargs)
        found = self._read(source.x, batch_size or source.batch_size or 32)
        return [probabilities for _, probabilities in found]

    @overload
    def tag(
        self, sentences: Sequence[Sequence[str]], return_confidence: Literal[False] = False, batch_size: int = 32
    ) -> list[list[str]]: ...

    @overload
    def tag(
        self, sentences: Sequence[Sequence[str]], return_confidence: Literal[True], batch_size: int = 32
    ) -> tuple[list[list[str]], list[np.ndarray]]: ...

    def tag(
        self, sentences: Sequence[Sequence[str]], return_confidence: bool = False, batch_size: int = 32
    ) -> list[list[str]] | tuple[list[list[str]], list[np.ndarray]]:
        """The label names of the words of each sentence: with a CRF, the best sequence.

        Args:
            sentences: A list of lists of tokens.
            return_confidence: Whether to return the probability of each word's label, too.
            batch_size: Sentences a batch.

        Returns:
            A list of label names for each sentence; with `return_confidence` a pair of that and, for each sentence,
            an array with one number a word.
        """
        read = self._read(list(check_sentences(sentences)), batch_size)
        names = [self._names(ids) for ids, _ in read]
        return (names, [_confidence(*each) for each in read]) if return_confidence else names

    def find_spans(self, sentences: Sequence[Sequence[str]], batch_size: int = 32) -> list[list[FoundSpan]]:
        """The spans that the labels mark.

        Args:
            sentences: A list of lists of tokens.
            batch_size: Sentences a batch.

        Returns:
            The spans of each sentence, from left to right.

        Raises:
            ValueError: If the labels do not mark spans (`scheme` is None).
        """
        if self.scheme is None:
            raise ValueError("The labels of this tagger do not mark spans: it was made without a `scheme`.")
        found = []
        for ids, probabilities in self._read(list(check_sentences(sentences)), batch_size):
            sure = _confidence(ids, probabilities)
            spans = tags_to_spans(self._names(ids), self.scheme)
            found.append([FoundSpan(*span, confidence=float(sure[span.start : span.end].min())) for span in spans])
        return found

    def _names(self, ids: np.ndarray) -> list[str]:
        return [self.labels[i] for i in ids]

    def _read(self, sentences: list[Sequence[str]], batch_size: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each sentence the ids of its labels, `(words,)`, and the probabilities of all, `(words, labels)`."""
        nothing = np.zeros((0,), np.int32), np.zeros((0, len(self.labels)), np.float32)
        read = [nothing] * len(sentences)
        filled = [i for i, tokens in enumerate(sentences) if tokens]
        if not filled:
            return read
        batches = self.batches([sentences[i] for i in filled], batch_size=batch_size, shuffle=False)
        for index, chosen in enumerate(batches.order):
            (inputs,) = batches[index]
            ids, probabilities = self._reader.predict_on_batch(self.predict_on_batch(inputs))
            for row, place in enumerate(chosen):
                words = len(sentences[filled[place]])
                read[filled[place]] = ids[row, :words], probabilities[row, :words]
        return read

    # Saving and export.

    def export(self, filepath: Any, format: str = "tf_saved_model", **kwargs: Any) -> Any:
        """Like `keras.Model.export`: a model from ids of words (and characters) to the output of the head."""
        shapes = {"words": (None, None), **({"characters": (None, None, None)} if self.characters else {})}
        signature = {name: keras.InputSpec(shape=shape, dtype="int32") for name, shape in shapes.items()}
        kwargs.setdefault("input_signature", [signature])
        return super().export(filepath, format=format, **kwargs)

    def export_tokens(self, filepath: str) -> None:
        """Write a TensorFlow SavedModel that takes tokens as strings: for serving without this package.

        Its signature `serving_default` maps `tokens`, a `(batch, time)` string tensor padded with `""`, to `labels`,
        `(batch, time)` strings, `""` at padding, and `confidence`, `(batch, time)`. Its signature `labels` and its file
        `assets.extra/labels.txt` hold the label names.

        Args:
            filepath: The folder to write.

        Raises:
            RuntimeError: If the backend is not TensorFlow.
        """
        check_tensorflow("export_tokens")
        import tensorflow as tf

        encode, tables = self.vectorizer.tensorflow_function()
        names = tf.constant(self.labels)

        def serve(tokens: Any) -> dict[str, Any]:
            ids, probabilities = self._reader(self(encode(tokens), training=False))
            confidence = tf.reduce_sum(probabilities * tf.one_hot(ids, len(self.labels)), axis=-1)
            real = tokens != ""
            return {
                "labels": tf.where(real, tf.gather(names, ids), ""),
                "confidence": tf.where(real, confidence, tf.zeros_like(confidence)),
            }

        write_saved_model(filepath, self, tables, serve, {"tokens": [None, None]}, self.labels)

    def get_build_config(self) -> dict[str, Any] | None:
        sizes = self.vectorizer.vocabulary_size, self.vectorizer.characters_size
        return {"sizes": sizes} if self.built else None

    def build_from_config(self, config: dict[str, Any] | None) -> None:
        # The vocabularies themselves are assets, read after this.
        if config and not self.built:
            self._build(*config["sizes"])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "labels": list(self.labels),
            "scheme": self.scheme,
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "head": self.head_name,
            "head_options": keras.saving.serialize_keras_object(self.head_options),
            "characters": self.characters,
            "character_dim": self.character_dim,
            "character_units": self.character_units,
            "embedding_dim": self.embedding_dim,
            "dropout": self.dropout,
            "word_dropout": self.word_dropout,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "trainable_embeddings": self.trainable_embeddings,
            "vectorizer": keras.saving.serialize_keras_object(self.vectorizer),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> SequenceTagger:
        objects = {
            name: keras.saving.deserialize_keras_object(config[name], custom_objects=custom_objects)
            for name in ("encoder", "head_options", "vectorizer")
        }
        return cls(**{**config, **objects})


class OutputReader(keras.Model):
    """From the output of a head to the ids of the labels and the probabilities of all, compiled by Keras."""

    def __init__(self, head: str):
        super().__init__()
        self.head = head

    def call(self, outputs: Any) -> tuple[Any, Any]:
        if self.head == "crf":
            return crf_decode(outputs), crf_marginals(outputs)
        return ops.cast(ops.argmax(outputs, axis=-1), "int32"), outputs


def _confidence(ids: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The probability of each label, `(words,)`, among those of all, `(words, labels)`."""
    return probabilities[np.arange(len(ids)), ids]
