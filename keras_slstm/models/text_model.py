"""Base class of models that read words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

import keras
from keras import ops

from keras_slstm.configs import ConfigFromArguments
from keras_slstm.layers.character_vectors import CharacterVectors
from keras_slstm.layers.rematerialized import Dropout
from keras_slstm.models.contextual_encoder import check_contextual, contextual_features
from keras_slstm.models.encoders import make_encoder
from keras_slstm.models.exported import ServedModel, write_file
from keras_slstm.models.low_rank import LowRankEncoder
from keras_slstm.models.quantized import Quantizable
from keras_slstm.models.raw_data import RawDataModel
from keras_slstm.models.serving import check_tensorflow
from keras_slstm.models.word_vector_defaults import DROPOUT, WORD_DROPOUT, warn_of_frozen, words_initializer
from keras_slstm.ops.backend.numpy_initializers import drawing_without_compiling
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.text.contextual_vectors import ContextualFunction, ContextualVectors
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.vocabulary import PADDING_ID, UNKNOWN_ID
from keras_slstm.text.word_vectorizer import WordVectorizer
from keras_slstm.text.word_vectors import WordVectors
from keras_slstm.validation import check_integer, check_rate

MAX_CHARACTERS = 24  # per word, by default, as in `TokenVectorizer`


class TextModel(Quantizable, LowRankEncoder, ConfigFromArguments, RawDataModel):
    """Base class of models that read words, with their shared options.

    Word vectors, character vectors and contextual vectors are concatenated, followed by dropout and an encoder. A
    subclass processes the output of the encoder: it checks its rank (`check_encoded`) and builds the weights after it
    (`build_head`).

    Args:
        encoder, units, encoder_options, embedding_dim, dropout, word_dropout, embeddings_initializer,
        trainable_embeddings, characters, character_dim, character_units, contextual, trainable_contextual,
        vectorizer: See `SentenceClassifier`.
        return_sequences: Whether an encoder given by name returns word vectors.
        make_head: A function from a dtype to the layer that directly follows the encoder, `head_layer`. Its weights
            precede those of the characters, as in the optimizers of saved files. None: no such layer.
        **kwargs: `name`, `dtype`.

    Raises:
        ValueError: If an argument does not fit.
    """

    vectorizer_class: ClassVar[Callable[..., WordVectorizer]]
    sentence_axes: tuple[int, ...] = ()  # axes of the word ids between batch and time
    output_names: tuple[str, ...] = ("probabilities",)  # of `serve`
    labels: tuple[str, ...]

    def __init__(
        self,
        encoder: str | keras.layers.Layer,
        units: int,
        return_sequences: bool,
        make_head: Callable[[str], keras.layers.Layer] | None = None,
        *,
        encoder_options: dict[str, Any] | None = None,
        embedding_dim: int = 300,
        dropout: float = DROPOUT,
        word_dropout: float = WORD_DROPOUT,
        embeddings_initializer: Any = None,
        trainable_embeddings: bool = True,
        characters: str | None = None,
        character_dim: int = 30,
        character_units: int = 50,
        contextual: keras.layers.Layer | ContextualFunction | None = None,
        trainable_contextual: bool = False,
        vectorizer: WordVectorizer | dict[str, Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_contextual(contextual, trainable_contextual)
        dtype = self.dtype_policy
        self.units = check_integer("units", units, 1)
        self.encoder = make_encoder(encoder, units, encoder_options, return_sequences, dtype)
        if make_head is not None:
            self.head_layer = make_head(accumulation_dtype(self.compute_dtype))
        if vectorizer is None or isinstance(vectorizer, dict):
            spelled = {} if characters is None else {"max_characters": MAX_CHARACTERS}
            vectorizer = self.vectorizer_class(**{**spelled, **(vectorizer or {})})
        if characters is not None and vectorizer.max_characters is None:
            raise ValueError(
                "`characters` need a `vectorizer` with `max_characters`, but its `max_characters` is None."
            )
        self.embedding_dim = check_integer("embedding_dim", embedding_dim, 1)
        self.vectorizer: Any = vectorizer
        self.embeddings_initializer = words_initializer(embeddings_initializer)
        self.trainable_embeddings = trainable_embeddings
        self.dropout = check_rate("dropout", dropout)
        self.word_dropout = check_rate("word_dropout", word_dropout)
        self.seed_generator = keras.random.SeedGenerator()
        self.embedding_dropout = Dropout(dropout, dtype=dtype)
        self.characters = characters
        self.character_dim = character_dim
        self.character_units = character_units
        self.character_vectors: Any = None
        if characters is not None:
            self.character_vectors = CharacterVectors(characters, character_units, character_dim, dtype=dtype)
        self._has_function = contextual is not None and not isinstance(contextual, keras.layers.Layer)
        if isinstance(contextual, keras.layers.Layer) and not trainable_contextual:
            contextual.trainable = False
        self.contextual: Any = contextual
        self.trainable_contextual = trainable_contextual
        self._contextual_features = 0  # known when the model is built
        self.embedding: Any = None  # created when the size of the vocabulary is known

    # Vocabulary and weights.

    def adapt(self, x: Iterable[Any], vectors: WordVectors | None = None) -> None:
        """Learn the vocabulary from the training examples, and create the weights.

        Args:
            x: The training examples, without labels; for a classifier, also the result of `TextVectorizer.count`.
            vectors: Initial word vectors (see `load_word_vectors`). Words that only occur there also join the
                vocabulary. Words of the examples without a vector get a random one.

        Raises:
            ValueError: If the model already has a vocabulary, or the size of the vectors is not `embedding_dim`.
        """
        if self.vectorizer.is_adapted:
            raise ValueError(
                f"The model already has a vocabulary of {self.vectorizer.vocabulary_size}: create a new model for a "
                "new vocabulary."
            )
        if vectors is not None and vectors.dim != self.embedding_dim:
            raise ValueError(
                f"`embedding_dim` must be {vectors.dim}, the size of the vectors, but got {self.embedding_dim}."
            )
        if isinstance(self.vectorizer, TextVectorizer):
            x = self.vectorizer.count(x)  # cuts the texts into words once
        elif isinstance(x, Iterator):
            x = list(x)  # read twice
        try:
            self.vectorizer.adapt(x, known=() if vectors is None else vectors.words)
            self.build()
        except Exception:
            self.vectorizer.clear()  # undo a failed attempt
            raise
        if vectors is not None:
            seed = int(keras.random.randint((), 0, 2**31 - 1))  # follows `keras.utils.set_random_seed`
            self.embedding.set_weights([vectors.embedding_matrix(self.vectorizer.vocabulary, seed)])
        if not self.trainable_embeddings:
            warn_of_frozen(vectors, self.vectorizer.count(x))

    def build(self, input_shape: Any = None) -> None:
        """Create the weights. Needs a vocabulary; `adapt` calls it."""
        if not self.vectorizer.is_adapted:
            raise ValueError("The model has no vocabulary yet: call `adapt` with the training examples first.")
        self._build(self.vectorizer.vocabulary_size, self.vectorizer.characters_size)

    def _build(self, vocabulary_size: int, characters_size: int = 0) -> None:
        embedding = keras.layers.Embedding(
            vocabulary_size,
            self.embedding_dim,
            embeddings_initializer=self.embeddings_initializer,
            trainable=self.trainable_embeddings,
            dtype=self.dtype_policy,
        )
        with drawing_without_compiling(embedding, self):
            self._build_layers(embedding, characters_size)

    def _build_layers(self, embedding: keras.layers.Embedding, characters_size: int) -> None:
        embedding.build((None, None))
        contextual = contextual_features(self.contextual, self.embedding_dim, self.compute_dtype)
        features = self.embedding_dim + (self.character_units if self.characters else 0) + contextual
        words = keras.KerasTensor((None, None, features), dtype=self.compute_dtype)
        mask = keras.KerasTensor((None, None), dtype="bool")
        encoded = self.encoder(words, mask=mask)
        self.check_encoded(getattr(encoded, "shape", None))
        self.build_head(encoded, mask)
        if self.character_vectors is not None:
            self.character_vectors.build_for(characters_size)
        self._contextual_features = contextual
        self.embedding = embedding  # last, so that a failed attempt changes nothing
        self.built = True

    def check_encoded(self, shape: tuple[int | None, ...] | None) -> None:
        """Raise ValueError unless the encoder's output has the right rank; None is an output without a shape."""
        if shape is None or len(shape) != 3:
            raise ValueError(
                f"The encoder must return word vectors (batch, time, features), but {self.encoder.name!r} returns "
                f"{shape}. Keras' recurrent layers do with `return_sequences=True`."
            )

    def build_head(self, encoded: keras.KerasTensor, mask: keras.KerasTensor) -> None:
        """Create the weights after the encoder, from its output and the mask of the words."""
        raise NotImplementedError

    # The Keras model.

    def read(self, inputs: Any, training: bool = False) -> tuple[Any, Any]:
        """Map the inputs of the model to the output of the encoder and the mask of the words."""
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
        elif self.contextual is not None:  # without dropout if frozen
            parts.append(self.contextual(x, mask=mask, training=training and self.trainable_contextual))
        x = ops.concatenate([ops.cast(part, self.compute_dtype) for part in parts], axis=-1) if parts[1:] else x
        return self.embedding_dropout(x, training=training), mask

    # Texts in.

    def vectorize(self, sentences: Sequence[Any]) -> dict[str, Any]:
        """The arguments of `keras_slstm.text.batches.Sentences` for texts or tokens, as the vectoriser reads them."""
        columns: dict[str, Any] = {"ids": self.vectorizer.encode(sentences)}
        if self.characters is not None:
            columns["characters"] = self.vectorizer.encode_characters(sentences)
        if self._has_function:
            tokens = list(self.vectorizer.tokenize_all(sentences))
            columns["contextual"] = ContextualVectors(self.contextual, tokens, self._contextual_features)
        return columns

    def has_batch_norm(self) -> bool:
        """Whether a layer applies batch normalisation."""
        return False

    def batch_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Options of batches; training batches are random samples if the model has batch normalisation."""
        trains = options.get("shuffle", True)
        return {"by_length": not (trains and self.has_batch_norm()), **options}

    # Saving and export.

    def export(self, filepath: Any, format: str = "tf_saved_model", **kwargs: Any) -> Any:
        """Export the model for another runtime, for any number of sentences and words.

        The inputs are named: `words`, the word ids, `(batch, time)` int32, padded with 0 on either side, or `(batch, 2,
        time)` for pairs; with characters, `characters`, `(batch, time, characters)`; with a function as `contextual`,
        its vectors, `contextual`. The packages that a format needs come with the extra `export`.

        Args:
            filepath: The file to write: an `.onnx`, `.tflite`, `.xml` (OpenVINO) or `.pt2` file, or a new folder. A
                `.json` file of the same name contains the names of labels (`label_names`), `inputs` and `outputs`, and
                the `vocabulary`, by id; an `.onnx` file also has them as metadata. Nothing is written if the export
                fails.
            format: `"onnx"` (from any backend; from JAX without characters, with the extra `export-jax`), `"litert"`,
                `"openvino"` (both from TensorFlow) or `"torch"` (from PyTorch), whose outputs are `probabilities` and,
                for a tagger, `labels`, the ids of the best labels. `"tf_saved_model"` (from TensorFlow or JAX) has the
                outputs of `call`.
            **kwargs: Further arguments of `keras.Model.export`.

        Raises:
            ValueError: If the backend cannot write the format: PyTorch cannot export a loop over a variable number of
                steps, so recurrent encoders and a tagger's CRF need TensorFlow.
            ImportError: If a package is missing.
        """
        signature = self.export_signature(*self.sentence_axes)
        if format == "tf_saved_model":
            kwargs.setdefault("input_signature", [signature])
            return super().export(filepath, format=format, **kwargs)
        outputs = [*self.output_names]
        about = {"inputs": sorted(signature), "outputs": outputs, **self.vectorizer.describe()}
        about["label_names"] = list(self.labels)
        if score_range := getattr(self, "score_range", None):
            about["score_range"] = list(score_range)
        return write_file(ServedModel(self, self.serve), filepath, format, signature, about, **kwargs)

    def serve(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The outputs of an exported file, given its inputs: tensors by the names in `output_names`."""
        raise NotImplementedError

    def export_signature(self, *sentences: int) -> dict[str, keras.InputSpec]:
        """The input specs for `keras.Model.export`; `sentences` are the axes between batch and time."""
        batch = (None, *sentences)
        signature = {"words": keras.InputSpec(shape=(*batch, None), dtype="int32")}
        if self.characters is not None:
            signature["characters"] = keras.InputSpec(shape=(*batch, None, None), dtype="int32")
        if self._has_function:
            shape = (*batch, None, self._contextual_features)
            signature["contextual"] = keras.InputSpec(shape=shape, dtype="float32")
        return signature

    def check_string_export(self, method: str) -> None:
        """Raise an error if no SavedModel that accepts strings can be written."""
        check_tensorflow(method)
        if self._has_function:
            raise ValueError(
                f"`{method}` cannot export the Python function {self.contextual!r}: use `export`, whose model takes "
                "`contextual` next to `words`."
            )

    def get_build_config(self) -> dict[str, Any] | None:
        if not self.built:
            return None
        config: dict[str, Any] = {"vocabulary_size": self.vectorizer.vocabulary_size}
        if self.characters is not None:
            config["characters_size"] = self.vectorizer.characters_size
        return config if self._quantization is None else {**config, "quantization": self._quantization}

    def build_from_config(self, config: dict[str, Any] | None) -> None:
        # The vocabulary itself is an asset, read later.
        if config and not self.built:
            sizes = dict(config)
            quantization = sizes.pop("quantization", None)
            self._build(*sizes.get("sizes", sizes.values()))  # `sizes` in older files
            if quantization:
                calls = quantization if isinstance(quantization, list) else [quantization]  # of older files
                self.quantize_again(calls)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        if custom_objects is None:  # an empty scope would hide the caller's
            return super().from_config(config)
        with keras.saving.custom_object_scope(custom_objects):
            return super().from_config(config)


def words_of(inputs: Any) -> Any:
    """The word ids among the inputs of a model."""
    return inputs["words"] if isinstance(inputs, dict) else inputs


def check_not_given(model: TextModel, options: dict[str, Any], *names: str) -> None:
    """Raise TypeError for options that the model fixes itself."""
    given = sorted({*names} & {*options})
    if given:
        raise TypeError(f"{type(model).__name__} does not take {', '.join(given)}.")
