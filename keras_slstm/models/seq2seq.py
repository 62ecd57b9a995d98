"""A translation model: text in one language in, text in another language out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, overload

import keras
import numpy as np
from keras import ops

from keras_slstm.layers.attention_decoder import CONTEXT_GAIN, AttentionDecoder
from keras_slstm.layers.recurrent_stack import RecurrentStack, recurrent_cell
from keras_slstm.layers.rematerialized import Dropout
from keras_slstm.metrics.token_accuracy import TokenAccuracy
from keras_slstm.models.exported_search import check_search_format, write_search
from keras_slstm.models.low_rank import LowRankEncoder
from keras_slstm.models.raw_data import RawDataModel
from keras_slstm.models.translation_search import Search, Searches, SearchModel
from keras_slstm.ops.backend.numpy_initializers import drawing_without_compiling
from keras_slstm.ops.backend.precision import accumulation_dtype
from keras_slstm.text.subword_vectorizer import END_ID, START_ID, SubwordVectorizer
from keras_slstm.text.text_vectorizer import check_texts
from keras_slstm.text.translation_batches import TranslationBatches
from keras_slstm.text.vocabulary import PADDING_ID
from keras_slstm.types import Shape, Tensor
from keras_slstm.validation import check_integer, check_rate

# With smaller states at the start, attention is learned later or not at all: docs/defaults.md.
SUBWORD_SPREAD = 1.0
KERNEL_INITIALIZER = "he_normal"


@keras.saving.register_keras_serializable(package="keras_slstm")
class Seq2Seq(LowRankEncoder, RawDataModel):
    """Translates texts with an encoder and an attention decoder of CAS-LSTM or LSTM layers.

    The model of the translation experiments of Choi, Kim and Lee (ACML 2019, section 4.4): layers of equal size on both
    sides, Luong's attention with input feeding in the decoder (`AttentionDecoder`), which starts from the final states
    of the encoder, and subwords (`SubwordVectorizer`) shared by both languages. Beam search finds the translation.

    The model accepts and returns texts; a saved `.keras` file includes the subwords. As a Keras model, it maps a dict
    of `source` and `target`, ids `(batch, time)` with 0 as padding, where `target` is shifted right by one, to the
    logits of the next subword, `(batch, time, vocabulary)`; `compile`, callbacks, mixed precision and saving work as in
    Keras.

    Args:
        cell: `"caslstm"` or `"lstm"`, for encoder and decoder.
        units: Size of the states of every layer, and of the vectors from which subwords are predicted.
        num_layers: Number of layers of the encoder, and of the decoder.
        cell_options: Further arguments of the cells on both sides, such as `{"lam": "trainable"}`. Without a
            `kernel_initializer`, it is `"he_normal"`.
        bidirectional: Whether the encoder reads in both directions, each with half of `units`.
        embedding_dim: Size of the subword vectors. Source and target have separate ones.
        dropout: Dropout rate on the subword vectors, between the encoder's layers, and on the decoder's output.
        embeddings_initializer: Initialiser of the subword vectors. None: normal, with a standard deviation of 1.
        context_gain: See `AttentionDecoder`.
        vectorizer: A `SubwordVectorizer`, or a dict of its arguments.
        **kwargs: `name`, `dtype`.

    Raises:
        ValueError: If an argument does not fit.

    Example:

    ```python
    model = keras_slstm.Seq2Seq(units=100, embedding_dim=100, vectorizer={"max_tokens": 1000})
    model.adapt(train_english + train_german)
    model.compile("adam")
    model.fit(train_english, train_german, validation_data=(dev_english, dev_german), epochs=10)
    model.save("english-german.keras")

    model = keras.saving.load_model("english-german.keras")
    model.translate(["The meeting begins at noon."], beam=5)  # ["Die Besprechung beginnt um 12:00 Uhr."]
    ```
    """

    recurrent_layers = ("encoder", "decoder")

    def __init__(
        self,
        cell: str = "caslstm",
        units: int = 256,
        num_layers: int = 2,
        *,
        cell_options: dict[str, Any] | None = None,
        bidirectional: bool = False,
        embedding_dim: int = 256,
        dropout: float = 0.2,
        embeddings_initializer: Any = None,
        context_gain: float = CONTEXT_GAIN,
        vectorizer: SubwordVectorizer | dict[str, Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if vectorizer is None or isinstance(vectorizer, dict):
            vectorizer = SubwordVectorizer(**(vectorizer or {}))
        dtype = self.dtype_policy
        self.vectorizer = vectorizer
        self.embedding_dim = check_integer("embedding_dim", embedding_dim, 1)
        self.dropout = check_rate("dropout", dropout)
        self.dropout_layer = Dropout(dropout, dtype=dtype)
        self.cell_options = dict(cell_options or {})
        options = {"kernel_initializer": KERNEL_INITIALIZER, **self.cell_options}
        self.encoder = RecurrentStack(
            cell, units, num_layers, bidirectional, dropout, options, name="encoder", dtype=dtype
        )
        self.cell = cell
        self.units = self.encoder.units
        self.num_layers = self.encoder.num_layers
        self.bidirectional = self.encoder.bidirectional
        self.decoder = AttentionDecoder(
            recurrent_cell(cell, units, num_layers, dtype=dtype, **options), context_gain=context_gain, dtype=dtype
        )
        self.context_gain = self.decoder.context_gain
        if embeddings_initializer is None:
            embeddings_initializer = keras.initializers.RandomNormal(stddev=SUBWORD_SPREAD)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.source_embedding: Any = None  # created when the size of the vocabulary is known
        self.target_embedding: Any = None
        self.head: Any = None
        self._searches = Searches(self)
        if self.vectorizer.is_adapted:
            self.build()

    # Vocabulary and weights.

    def adapt(self, texts: Iterable[str]) -> None:
        """Learn the subwords from the training texts of both languages, and create the weights.

        Raises:
            ValueError: If the model already has subwords, or there are no texts.
        """
        if self.vectorizer.is_adapted:
            raise ValueError("The model already has subwords: create a new model to learn other ones.")
        self.vectorizer.adapt(texts)
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Create the weights. Needs subwords; `adapt` calls it."""
        if not self.vectorizer.is_adapted:
            raise ValueError("The model has no subwords yet: call `adapt(texts)` with the training texts first.")
        self._build(self.vectorizer.vocabulary_size)

    def _build(self, vocabulary_size: int) -> None:
        size, units, dtype = self.embedding_dim, self.units, self.dtype_policy
        # Each embedding gets a copy, because an initialiser without a seed gives the same numbers at every call.
        initializer = keras.initializers.serialize(self.embeddings_initializer)
        self.source_embedding, self.target_embedding = (
            keras.layers.Embedding(
                vocabulary_size,
                size,
                embeddings_initializer=keras.initializers.get(initializer),
                name=name,
                dtype=dtype,
            )
            for name in ("source_embedding", "target_embedding")
        )
        self.head = keras.layers.Dense(vocabulary_size, name="head", dtype=accumulation_dtype(self.compute_dtype))
        with drawing_without_compiling(self):
            self.source_embedding.build((None, None))
            self.target_embedding.build((None, None))
            self.encoder.build((None, None, size))
            self.decoder.build((None, None, size), (None, None, units))
            self.head.build((None, None, units))
        self.built = True

    # The Keras model.

    def call(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        """Map ids of the source, and of the target so far, to the logits of the next subword."""
        source, target = inputs["source"], inputs["target"]
        vectors, states, source_mask = self.encode(source, training=training)
        x = self.dropout_layer(self.target_embedding(target), training=training)
        mask = ops.not_equal(target, PADDING_ID)
        x = self.decoder(x, vectors, initial_state=states, mask=mask, memory_mask=source_mask)
        return self.head(self.dropout_layer(x, training=training))

    def encode(self, source: Tensor, training: bool = False) -> tuple[Tensor, list[Tensor], Tensor]:
        """Read the source.

        Args:
            source: Ids, `(batch, time)`, with 0 as padding.
            training: Whether to apply dropout.

        Returns:
            The vectors of the subwords, `(batch, time, units)`; the final states of the encoder; the mask, `(batch,
            time)` bool.
        """
        mask = ops.not_equal(source, PADDING_ID)
        x = self.dropout_layer(self.source_embedding(source), training=training)
        vectors, *states = self.encoder(x, mask=mask, training=training)
        return vectors, states, mask

    def compute_output_shape(self, input_shape: dict[str, Shape]) -> Shape:
        return (*input_shape["target"], self.head.units)

    def default_loss(self) -> Any:
        # Padding has label -1.
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1, name="crossentropy")

    def has_word_losses(self) -> bool:
        return True

    def default_metrics(self) -> list[Any]:
        return [TokenAccuracy(name="accuracy")]

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Like `keras.Model.compile`, with cross-entropy and subword accuracy as defaults."""
        super().compile(*args, **kwargs)
        self._searches.clear()  # they were compiled with the previous settings

    # Text in, text out.

    def batches(
        self,
        x: Iterable[str],
        y: Iterable[str] | None = None,
        sample_weight: Sequence[float] | None = None,
        **options: Any,
    ) -> TranslationBatches:
        """Turn texts and their translations into batches of similar length, as `fit` and the other methods do.

        Args:
            x: The texts.
            y: One translation per text, or None.
            sample_weight: One weight per text, or None.
            **options: Further arguments of `TranslationBatches`: `batch_size`, `shuffle`, `seed`, `multiple_of`,
                `max_lengths`.

        Raises:
            ValueError: If the numbers of texts and translations differ, or there are no subwords yet.
        """
        sources = [[*ids, END_ID] for ids in self.vectorizer.encode(x)]
        targets = None if y is None else [[START_ID, *ids, END_ID] for ids in self.vectorizer.encode(y)]
        return TranslationBatches(sources, targets, sample_weight, **options)

    def predict(self, x: Any, batch_size: int | None = None, **kwargs: Any) -> Any:
        """Like `keras.Model.predict`; a list of texts is translated greedily.

        Raises:
            TypeError: If arguments other than `verbose` are passed with texts.
        """
        source = self._read_examples(x)
        if source is None:
            return super().predict(x, batch_size=batch_size, **kwargs)
        kwargs.pop("verbose", None)
        if kwargs:
            raise TypeError(f"`predict` does not take {', '.join(sorted(kwargs))} for texts: see `translate`.")
        return self.translate(source.x, batch_size=batch_size or source.batch_size or 32)

    @overload
    def translate(
        self,
        texts: Sequence[str],
        beam: int = 1,
        length_penalty: float = 1.0,
        max_length: int | None = None,
        return_scores: Literal[False] = False,
        batch_size: int = 32,
    ) -> list[str]: ...

    @overload
    def translate(
        self,
        texts: Sequence[str],
        beam: int = 1,
        length_penalty: float = 1.0,
        max_length: int | None = None,
        *,
        return_scores: Literal[True],
        batch_size: int = 32,
    ) -> tuple[list[str], np.ndarray]: ...

    def translate(
        self,
        texts: Sequence[str],
        beam: int = 1,
        length_penalty: float = 1.0,
        max_length: int | None = None,
        return_scores: bool = False,
        batch_size: int = 32,
    ) -> list[str] | tuple[list[str], np.ndarray]:
        """Translate texts by beam search (see `keras_slstm.ops.beam_search`).

        On TensorFlow and JAX, the search is one compiled function. The translation of a text does not depend on the
        other texts.

        Args:
            texts: A list of texts.
            beam: Number of hypotheses kept in each step. 1 is greedy search; the paper uses 10.
            length_penalty: The score of a translation is its log-probability divided by its length to this power: 0
                favours short translations, 1 compares the mean per subword.
            max_length: Maximum number of subwords in a translation. Default: twice the length of the text plus 10.
            return_scores: Whether to also return the scores.
            batch_size: Texts per batch.

        Returns:
            A list of texts; with `return_scores`, a pair of that list and the scores, `(len(texts),)`.

        Raises:
            ValueError: If an argument is out of range, or `texts` is not a list of texts.
        """
        texts = list(check_texts(texts))
        search = self._searches.get(Search(beam, length_penalty, max_length))
        written: list[str] = [""] * len(texts)
        scores = np.zeros(len(texts), accumulation_dtype(self.compute_dtype))
        if texts:
            batches = self.batches(texts, batch_size=batch_size, shuffle=False)
            for index, chosen in enumerate(batches.order):
                ids, found = search.predict_on_batch(batches[index][0]["source"])
                scores[chosen] = found
                for place, text in zip(chosen, self.vectorizer.decode(ids)):
                    written[place] = text
        return (written, scores) if return_scores else written

    # Saving and export.

    def export(
        self,
        filepath: Any,
        format: str = "tf_saved_model",
        *,
        beam: int = 1,
        length_penalty: float = 1.0,
        max_length: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Export the search for another runtime, for any number of texts and subwords.

        The input is `source`, `(batch, time)` int32: the subword ids of each text, followed by the end id 2 and padded
        with 0. The outputs are `ids`, `(batch, longest)` int32, the subwords of the translations, followed by the end
        id and padding, and `scores`, `(batch,)`. The packages that a format needs come with the extra `export`.

        Args:
            filepath: The file to write: an `.onnx`, `.tflite` or `.xml` (OpenVINO) file, or a new folder. A `.json`
                file of the same name (in a folder, `assets.extra/model.json`) contains the `vocabulary`, by id, and the
                `tokenizer` for the `tokenizers` library. That tokenizer expects a space before the text, and its ids
                are smaller by 3. Nothing is written if the export fails.
            format: `"tf_saved_model"`, `"onnx"`, `"litert"` or `"openvino"`, all of them from TensorFlow.
            beam, length_penalty, max_length: See `translate`.
            **kwargs: Further arguments of `keras.Model.export`.

        Raises:
            ValueError: If an argument is invalid, the backend cannot write the format, or there are no subwords yet.
            ImportError: If a package is missing.

        Example:

        ```python
        model.export("english-german.onnx", format="onnx")
        model.export("english-german", beam=5)
        ```
        """
        if not self.built:
            self.build()  # raises
        search = Search(beam, length_penalty, max_length)
        search.check()
        check_search_format(format)
        write_search(SearchModel(self, search), self.vectorizer.describe(), filepath, format, **kwargs)

    def get_build_config(self) -> dict[str, Any] | None:
        return {"vocabulary_size": self.head.units} if self.built else None

    def build_from_config(self, config: dict[str, Any] | None) -> None:
        # The subwords themselves are an asset, read later.
        if config and not self.built:
            self._build(config["vocabulary_size"])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "cell": self.cell,
            "units": self.units,
            "num_layers": self.num_layers,
            "cell_options": self.cell_options,
            "bidirectional": self.bidirectional,
            "embedding_dim": self.embedding_dim,
            "dropout": self.dropout,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "context_gain": self.context_gain,
            "vectorizer": keras.saving.serialize_keras_object(self.vectorizer),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Seq2Seq:
        vectorizer = keras.saving.deserialize_keras_object(config["vectorizer"], custom_objects=custom_objects)
        return cls(**{**config, "vectorizer": vectorizer})
