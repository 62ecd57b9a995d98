"""A sequence tagger: tokenised sentences in, one label name per token out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

import keras
import numpy as np

from keras_slstm.layers.crf import CRF
from keras_slstm.losses import CRFLoss
from keras_slstm.metrics import CRFAccuracy, TokenAccuracy
from keras_slstm.models.labels import LabelIds
from keras_slstm.models.serving import write_saved_model
from keras_slstm.models.span_probabilities import span_probabilities
from keras_slstm.models.text_model import TextModel
from keras_slstm.ops.backend.argmax import argmax
from keras_slstm.ops.crf_functions import crf_decode, crf_marginals
from keras_slstm.text.tag_schemes import tags_to_spans
from keras_slstm.text.token_batches import TokenBatches
from keras_slstm.text.token_vectorizer import TokenVectorizer, check_sentences

HEADS = ("crf", "softmax")


class FoundSpan(NamedTuple):
    """Words `start` to `end - 1` of a sentence, their type, and the confidence of the tagger.

    `confidence` is the minimum of the probabilities of its tags, or the probability of the span (see `find_spans`).
    """

    type: str
    start: int
    end: int
    confidence: float


@keras.saving.register_keras_serializable(package="keras_slstm")
class SequenceTagger(TextModel):
    """Labels the words of sentences: vectors of words and characters, dropout, encoder, CRF or softmax.

    The model accepts lists of tokens and returns label names. A saved `.keras` file includes the vocabularies and the
    labels. As a Keras model, it maps a dict of `words`, `(batch, time)`, and `characters`, `(batch, time, width)`, both
    int32 with 0 as padding, to the output of its head: the potentials of a `CRF`, or probabilities `(batch, time,
    labels)`. `compile`, callbacks, mixed precision and saving work as in Keras.

    Args:
        labels: The label names, at least two.
        scheme: `"BIO"`, `"BIOES"`, `"BILOU"`, `"BMES"` or `"IOB1"` if the labels mark spans. A CRF then assigns
            probability 0 to sequences that violate the scheme, and training sentences that violate it are rejected.
            None: each label stands alone.
        encoder, units, encoder_options: See `SentenceClassifier`. An encoder that is given as a layer must return word
            vectors.
        head: `"crf"`, or `"softmax"` to label each word independently.
        head_options: Further arguments of `CRF` or of `keras.layers.Dense`, such as `{"pairwise": True}`.
        characters: See `SentenceClassifier`.
        vectorizer: A `TokenVectorizer`, or a dict of its arguments.
        **options: Further arguments of `SentenceClassifier`, except those for pooling and hidden layers.

    Raises:
        ValueError: If an argument is invalid. The output of the encoder is checked in `adapt`.

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
    output_names = ("labels", "probabilities")
    vectorizer_class = TokenVectorizer

    def __init__(
        self,
        labels: Sequence[str],
        scheme: str | None = None,
        encoder: str | keras.layers.Layer = "slstm",
        units: int = 300,
        *,
        head: str = "crf",
        head_options: dict[str, Any] | None = None,
        characters: str | None = "cnn",
        **options: Any,
    ):
        label_ids = LabelIds(labels, scheme)
        if head not in HEADS:
            raise ValueError(f"`head` must be one of {HEADS}, but got {head!r}.")
        head_options = dict(head_options or {})

        def make_head(dtype: str) -> keras.layers.Layer:
            if head == "crf":
                return CRF(labels=list(label_ids.labels), scheme=scheme, dtype=dtype, **head_options)
            return keras.layers.Dense(len(label_ids.labels), activation="softmax", dtype=dtype, **head_options)

        super().__init__(encoder, units, True, make_head, characters=characters, **options)
        self._label_ids = label_ids
        self.labels = label_ids.labels
        self.scheme = scheme
        self.head = head
        self.head_options = head_options
        self._reader = OutputReader(head)
        if self.vectorizer.is_adapted:
            self.build()

    def build_head(self, encoded: keras.KerasTensor, mask: keras.KerasTensor) -> None:
        self.head_layer.build(encoded.shape)

    # The Keras model.

    def call(self, inputs: Mapping[str, Any], training: bool = False) -> Any:
        """Map ids of words and characters to the output of the head."""
        x, mask = self.read(inputs, training)
        return self.head_layer(x, mask=mask) if self.head == "crf" else self.head_layer(x)

    def default_loss(self) -> Any:
        if self.head == "crf":
            return CRFLoss()
        return keras.losses.SparseCategoricalCrossentropy(ignore_class=-1, name="crossentropy")

    def has_word_losses(self) -> bool:
        return self.head == "softmax"

    def default_metrics(self) -> list[Any]:
        return [(CRFAccuracy if self.head == "crf" else TokenAccuracy)(name="accuracy")]

    def compile(self, optimizer: Any = "rmsprop", loss: Any = None, metrics: Any = None, **kwargs: Any) -> None:
        """Like `keras.Model.compile`, with defaults for the loss and the accuracy that suit the head.

        They are `CRFLoss` and `CRFAccuracy` or, for softmax, cross-entropy and `TokenAccuracy`, which ignore words with
        label -1; the accuracy is named `accuracy`. `metrics=[]` saves the time of the accuracy.

        Raises:
            ValueError: If the loss does not fit the head.
        """
        is_crf_loss = isinstance(loss, CRFLoss)
        from_keras = type(keras.losses.get(loss)).__module__.startswith("keras.") or isinstance(loss, str)
        if self.head == "crf" and loss is not None and from_keras and not is_crf_loss:
            raise ValueError(f"With head='crf' the loss must be `CRFLoss()`, the default, but got {loss!r}.")
        if self.head == "softmax" and is_crf_loss:
            raise ValueError("`CRFLoss` needs head='crf', but this model has head='softmax'.")
        super().compile(optimizer, loss, metrics, **kwargs)

    # Tokens in, label names out.

    def check_examples(self, x: Any) -> Iterable[Sequence[str]]:
        return check_sentences(x)

    def batches(
        self,
        x: Iterable[Sequence[str]],
        y: Iterable[Sequence[str | None]] | None = None,
        sample_weight: Sequence[float] | None = None,
        **options: Any,
    ) -> TokenBatches:
        """Turn sentences and label names into batches of similar length, as `fit` and the other methods do.

        Args:
            x: The tokens of the sentences.
            y: The labels of their tokens, with None for an unknown label; or None.
            sample_weight: One weight per sentence, or None.
            **options: Further arguments of `TokenBatches`: `batch_size`, `shuffle`, `seed`, `multiple_of`,
                `max_lengths`.

        Raises:
            ValueError: If a label is unknown or violates the scheme (with its position), or there is no vocabulary yet.
        """
        labels = None if y is None else self._label_ids.encode(y)
        columns = self.vectorize(list(check_sentences(x)))
        return TokenBatches(labels=labels, sample_weight=sample_weight, **columns, **options)

    def predict(self, x: Any, batch_size: int | None = None, **kwargs: Any) -> Any:
        """Like `keras.Model.predict`; for a list of sentences, return the label probabilities of their words.

        With a CRF, these are the marginals.

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
        self,
        sentences: Sequence[Sequence[str]],
        return_confidence: Literal[False] = False,
        batch_size: int = 32,
        verbose: int = 0,
    ) -> list[list[str]]: ...

    @overload
    def tag(
        self,
        sentences: Sequence[Sequence[str]],
        return_confidence: Literal[True],
        batch_size: int = 32,
        verbose: int = 0,
    ) -> tuple[list[list[str]], list[np.ndarray]]: ...

    def tag(
        self,
        sentences: Sequence[Sequence[str]],
        return_confidence: bool = False,
        batch_size: int = 32,
        verbose: int = 0,
    ) -> list[list[str]] | tuple[list[list[str]], list[np.ndarray]]:
        """Return the label names of each sentence; with a CRF, the best sequence.

        Args:
            sentences: A list of lists of tokens.
            return_confidence: Whether to also return the probability of each word's label.
            batch_size: Sentences per batch.
            verbose: 1 to show a progress bar, as in `predict`; 0 to show nothing.

        Returns:
            A list of label names for each sentence; with `return_confidence`, a pair of that and, for each sentence, an
            array with one number per word.
        """
        read = self._read(list(check_sentences(sentences)), batch_size, verbose)
        names = [self._names(ids) for ids, _ in read]
        return (names, [_confidence(*each) for each in read]) if return_confidence else names

    def find_spans(
        self, sentences: Sequence[Sequence[str]], batch_size: int = 32, whole: bool = False, verbose: int = 0
    ) -> list[list[FoundSpan]]:
        """Return the spans that the labels encode.

        Args:
            sentences: A list of lists of tokens.
            batch_size: Sentences per batch.
            whole: Whether `confidence` is the probability of the span as a whole (`span_probabilities`) instead of the
                minimum over the labels of its words. Needs a CRF.
            verbose: 1 to show a progress bar, as in `predict`; 0 to show nothing.

        Returns:
            The spans of each sentence, from left to right.

        Raises:
            ValueError: If the labels do not mark spans (`scheme` is None), or the head or scheme does not support
                `whole`.
        """
        if self.scheme is None:
            raise ValueError("The labels of this tagger do not mark spans: create it with a `scheme`.")
        if whole and self.head != "crf":
            raise ValueError(f"`whole` needs head='crf', but this model has head={self.head!r}.")
        sentences = list(check_sentences(sentences))
        found: list[list[FoundSpan]] = [[] for _ in sentences]
        for places, outputs in self._outputs(sentences, batch_size, verbose):
            read = self._words(outputs, [len(sentences[place]) for place in places])
            spans = [tags_to_spans(self._names(ids), self.scheme) for ids, _ in read]
            confidences = [
                [float(_confidence(*each)[span.start : span.end].min()) for span in own]
                for each, own in zip(read, spans)
            ]
            if whole:
                lengths = [len(ids) for ids, _ in read]
                confidences = span_probabilities(outputs, spans, lengths, self.labels, self.scheme)
            for place, own, values in zip(places, spans, confidences):
                found[place] = [FoundSpan(*span, confidence=value) for span, value in zip(own, values)]
        return found

    def _names(self, ids: np.ndarray) -> list[str]:
        return [self.labels[i] for i in ids]

    def _read(
        self, sentences: list[Sequence[str]], batch_size: int, verbose: int = 0
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each sentence, its label ids, `(words,)`, and the probabilities of all labels, `(words, labels)`."""
        nothing = np.zeros((0,), np.int32), np.zeros((0, len(self.labels)), np.float32)
        read = [nothing] * len(sentences)
        for places, outputs in self._outputs(sentences, batch_size, verbose):
            for place, each in zip(places, self._words(outputs, [len(sentences[place]) for place in places])):
                read[place] = each
        return read

    def _outputs(
        self, sentences: list[Sequence[str]], batch_size: int, verbose: int = 0
    ) -> Iterator[tuple[list[int], Any]]:
        """Yield the indices of the sentences in each batch and the output of the head; skip empty sentences."""
        filled = [i for i, tokens in enumerate(sentences) if tokens]
        if not filled:
            return
        batches = self.batches([sentences[i] for i in filled], batch_size=batch_size, shuffle=False)
        progress = keras.utils.Progbar(len(filled), verbose=verbose, unit_name="sentence")
        for index, chosen in enumerate(batches.order):
            (inputs,) = batches[index]
            yield [filled[place] for place in chosen], self.predict_on_batch(inputs)
            progress.add(len(chosen))

    def _words(self, outputs: Any, lengths: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
        """The result of `_read` for a batch, from the output of the head."""
        ids, probabilities = self._reader.predict_on_batch(outputs)
        return [(ids[row, :words], probabilities[row, :words]) for row, words in enumerate(lengths)]

    # Saving and export.

    def serve(self, inputs: dict[str, Any]) -> dict[str, Any]:
        labels, probabilities = self._reader(self(inputs, training=False))
        return {"labels": labels, "probabilities": probabilities}

    def export_tokens(self, filepath: str) -> None:
        """Write a TensorFlow SavedModel that accepts tokens as strings, for serving without this package.

        Its signature `serving_default` maps `tokens`, a `(batch, time)` string tensor padded with `""`, to `labels`,
        `(batch, time)` strings, `""` at padding, and `confidence`, `(batch, time)`. Its signature `labels` and its file
        `assets.extra/labels.txt` hold the label names.

        Args:
            filepath: The folder to write.

        Raises:
            RuntimeError: If the backend is not TensorFlow.
        """
        self.check_string_export("export_tokens")
        import tensorflow as tf

        encode, tables = self.vectorizer.tensorflow_function()
        names = tf.constant(self.labels)

        def serve(tokens: Any) -> dict[str, Any]:
            ids, probabilities = self._reader(self(encode(tokens), training=False))
            confidence = tf.reduce_sum(probabilities * tf.one_hot(ids, len(self.labels)), axis=-1)
            mask = tokens != ""
            return {
                "labels": tf.where(mask, tf.gather(names, ids), ""),
                "confidence": tf.where(mask, confidence, tf.zeros_like(confidence)),
            }

        write_saved_model(filepath, self, tables, serve, {"tokens": [None, None]}, self.labels)

    def load_own_variables(self, store: Any) -> None:
        super().load_own_variables(store)
        if "head" in getattr(store, "h5_file", {}):  # in older files, `head` was the layer
            layer = self.head_layer

            def load_former(store: Any) -> None:
                del layer.load_own_variables
                layer.load_own_variables(store.get("head"))

            layer.load_own_variables = load_former


class OutputReader(keras.Model):
    """Maps the output of a head to label ids and label probabilities, compiled by Keras."""

    def __init__(self, head: str):
        super().__init__()
        self.head = head

    def call(self, outputs: Any) -> tuple[Any, Any]:
        if self.head == "crf":
            return crf_decode(outputs), crf_marginals(outputs)
        return argmax(outputs, axis=-1), outputs


def _confidence(ids: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The probability of the chosen label of each word, `(words,)`."""
    return probabilities[np.arange(len(ids)), ids]
