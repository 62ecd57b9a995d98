"""A sentence classifier: text in, label names out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import keras

from keras_slstm.models.labels import check_labels, label_ids
from keras_slstm.models.serving import write_saved_model
from keras_slstm.models.text_classifier import TextClassifier
from keras_slstm.text.batches import TextBatches


@keras.saving.register_keras_serializable(package="keras_slstm")
class SentenceClassifier(TextClassifier):
    """Classifies sentences: embedding, dropout, sentence encoder, softmax(s W + b).

    The model accepts texts and returns label names; a saved `.keras` file includes the vocabulary and the labels. As a
    Keras model, it maps word ids `(batch, time)`, with 0 as padding, to probabilities `(batch, labels)`; with
    `characters`, its input is a dict of `words` and `characters`, `(batch, time, width)`. `compile`, callbacks, mixed
    precision and saving work as in Keras.

    Args:
        labels: The label names, at least two.
        encoder: A name (see `build_encoder`), or a Keras layer that maps `(batch, time, embedding_dim)` and a `mask` to
            sentence vectors or, with `pooling`, to word vectors.
        units: Size of the states of an encoder given by name.
        encoder_options: Further arguments of an encoder given by name, such as `{"steps": 7}`.
        pooling: None if the encoder returns sentence vectors; `"attention"`, `"max"` or `"mean"` to pool its word
            vectors. An encoder given by name adapts to this.
        mlp_units: Sizes of hidden layers between the sentence vector and the softmax.
        mlp_dropout: Dropout rate before the first hidden layer and after the last.
        mlp_batch_norm: Whether to apply batch normalisation; see `MLP`.
        mlp_activation: Name of the activation of the hidden layers.
        embedding_dim: Size of the word vectors.
        dropout: Dropout rate on the word vectors.
        word_dropout: Rate at which words are replaced by the unknown word in training, to train its vector.
        embeddings_initializer: Initialiser of the word vectors. None: normal, with a standard deviation of 0.5.
        trainable_embeddings: Whether to train the word vectors. If not, `adapt` warns when fewer than 95% of the
            tokens have one.
        kernel_regularizer: Regulariser of W.
        characters: `"cnn"` (`CharCNN`) or `"bilstm"` (`CharBiLSTM`) to add a vector computed from the characters of
            each word, or None.
        character_dim: Size of the character vectors.
        character_units: Size of the vector computed from the characters of a word.
        contextual: The source of contextual word vectors, such as CoVe, to concatenate with the word vectors. Either a
            Keras layer that maps the word vectors, `(batch, time, embedding_dim)`, and a `mask` to `(batch, time,
            features)`; it becomes a part of the model and its file. Or a function from a list of tokenised sentences to
            one array `(tokens, features)` per sentence. It is called for each batch, and looked up by name when a file
            is loaded: register it (`keras.saving.register_keras_serializable`) or pass it in `custom_objects`. Its
            vectors are the input `contextual`, `(batch, time, features)`, next to `words`.
        trainable_contextual: Whether to train that layer. Otherwise it is frozen and applies no dropout.
        vectorizer: A `TextVectorizer`, or a dict of its arguments. With `characters`, it needs `max_characters`, which
            a dict may omit.
        **kwargs: `name`, `dtype`. `dtype` applies to all layers except an encoder given as a layer.

    Raises:
        ValueError: If an argument is invalid. The output of the encoder is checked in `adapt`.

    Example:

    ```python
    model = keras_slstm.SentenceClassifier(["cancel", "book"], units=100, embedding_dim=100)
    model.adapt(train_texts)
    model.compile("adam")
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
        **options: Any,
    ):
        labels = check_labels(labels)
        super().__init__(len(labels), encoder, units, **options)
        self.labels = labels
        if self.vectorizer.is_adapted:
            self.build()

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Map word ids `(batch, time)`, with 0 as padding, to probabilities `(batch, labels)`."""
        return self.decide(self.encode(inputs, training), training)

    # Text in, label names out.

    def batches(
        self,
        x: Iterable[str],
        y: Iterable[str] | None = None,
        sample_weight: Sequence[float] | None = None,
        **options: Any,
    ) -> TextBatches:
        """Turn texts and label names into batches of similar length, as `fit` and the other methods do.

        Args:
            x: The texts.
            y: One label name per text, or None.
            sample_weight: One weight per text, or None.
            **options: Further arguments of `TextBatches`: `batch_size`, `shuffle`, `seed`, `multiple_of`,
                `max_lengths`, `by_length`, `min_batches`. With batch normalisation, training batches are random
                samples.

        Raises:
            ValueError: If a label is unknown (with its position), or there is no vocabulary yet.
        """
        labels = None if y is None else label_ids(self.labels, y)
        return self.sentence_batches(x, labels, sample_weight, **options)

    # Saving and export.

    def export_text(self, filepath: str) -> None:
        """Write a TensorFlow SavedModel that accepts raw strings, for serving without this package.

        Its signature `serving_default` maps `texts`, a `(batch,)` string tensor, to `probabilities`,
        `(batch, labels)`, and `label`, `(batch,)` strings. Its signature `labels` and its file
        `assets.extra/labels.txt` hold the label names in the order of the probabilities.

        Args:
            filepath: The folder to write.

        Raises:
            RuntimeError: If the backend is not TensorFlow.
            ValueError: If `contextual` is a function.
        """
        self.check_string_export("export_text")
        import tensorflow as tf

        encode, tables = self.vectorizer.tensorflow_function()
        labels = tf.constant(self.labels)

        def serve(texts: Any) -> dict[str, Any]:
            probabilities = self(encode(texts), training=False)
            label = tf.gather(labels, tf.argmax(probabilities, axis=-1))
            return {"probabilities": probabilities, "label": label}

        write_saved_model(filepath, self, tables, serve, {"texts": [None]}, self.labels)
