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

    Texts go in and label names come out; a saved `.keras` file holds vocabulary and labels. Inside, the
    model maps word ids `(batch, time)`, 0 being padding, to probabilities `(batch, labels)`; with `characters` it takes
    a dict of them, `words`, and `characters`, `(batch, time, width)`. `compile`, callbacks, mixed precision and saving
    are Keras' own.

    Args:
        labels: The label names, at least two.
        encoder: A name (see `build_encoder`), or a Keras layer that maps `(batch, time, embedding_dim)` and a
            `mask` to sentence vectors, or, with `pooling`, to word vectors.
        units: Size of the encoder's states, where it is given by name.
        encoder_options: Further arguments of an encoder given by name, such as `{"steps": 7}`.
        pooling: None for an encoder that returns sentence vectors; `"attention"`, `"max"` or `"mean"` to pool
            its word vectors. An encoder given by name returns what is needed.
        mlp_units: Sizes of hidden layers between the sentence vector and the softmax.
        mlp_dropout: Dropout rate before the first hidden layer and after the last.
        mlp_batch_norm: Whether to normalise there: see `MLP`.
        mlp_activation: Activation of the hidden layers, by a name that Keras knows.
        embedding_dim: Size of the word vectors.
        dropout: Dropout rate on the word vectors.
        word_dropout: Rate at which words are replaced by the unknown word in training, so that its vector is trained.
        embeddings_initializer: Initialiser of the word vectors. None: normal, with a standard deviation of 0.5.
        trainable_embeddings: Whether the word vectors are trained. `adapt` warns if not, and fewer than 95% of the
            running words have one.
        kernel_regularizer: Regulariser of W.
        characters: `"cnn"` (`CharCNN`) or `"bilstm"` (`CharBiLSTM`) for a vector of each word from its characters
            beside its own, or None.
        character_dim: Size of the vectors of characters.
        character_units: Size of the vector that is made of a word's characters.
        contextual: The source of further vectors, which depend on the sentence, such as CoVe, and are joined to the
            word vectors. Either a Keras layer that maps the word vectors, `(batch, time, embedding_dim)`, and
            a `mask` to `(batch, time, features)`; it becomes a part of the model, and of its file. Or a function from a
            list of sentences, each a list of tokens, to an array `(tokens, features)` for each.
            It is called when a batch is made, and found again by its name when a file is loaded: register it
            (`keras.saving.register_keras_serializable`), or give it as one of `custom_objects`. Its vectors come as
            `contextual`, `(batch, time, features)`, beside `words`.
        trainable_contextual: Whether that layer is trained. Otherwise it is frozen, without dropout.
        vectorizer: A `TextVectorizer`, or a dict of its arguments. With `characters` it needs `max_characters`, which a
            dict need not name.
        **kwargs: `name`, `dtype`. A dtype reaches all layers but an encoder given as a layer.

    Raises:
        ValueError: If an argument does not fit. An encoder's wrong output raises in `adapt`.

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
        """Word ids `(batch, time)`, 0 being padding, to probabilities `(batch, labels)`."""
        return self.decide(self.encode(inputs, training), training)

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
            **options: Further arguments of `TextBatches`: `batch_size`, `shuffle`, `seed`, `multiple_of`,
                `max_lengths`, `by_length`, `min_batches`. Where a model normalises by batch, the batches to train on
                are random samples.

        Raises:
            ValueError: If a label is unknown (with its position), or there is no vocabulary yet.
        """
        labels = None if y is None else label_ids(self.labels, y)
        return self.sentence_batches(x, labels, sample_weight, **options)

    # Saving and export.

    def export_text(self, filepath: str) -> None:
        """Write a TensorFlow SavedModel that takes raw strings: for serving without this package.

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
