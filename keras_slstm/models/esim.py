"""The Enhanced Sequential Inference Model (Chen et al., ACL 2017): two sentences compared word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.models.encoders import build_encoder
from keras_slstm.models.mlp import Dense
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier, one_by_one
from keras_slstm.models.text_model import words_of
from keras_slstm.ops.masks import check_mask, masked_max, masked_mean, zero_padding
from keras_slstm.ops.soft_alignment import align
from keras_slstm.text.contextual_vectors import ContextualFunction
from keras_slstm.text.text_vectorizer import PADDING_ID, TextVectorizer
from keras_slstm.types import Tensor
from keras_slstm.validation import check_integer, check_rate


@keras.saving.register_keras_serializable(package="keras_slstm")
class LocalInference(keras.layers.Layer):
    """Compares two sentences word by word: what follows the first encoder in ESIM, up to its classifier.

        a~_i = sum_j softmax_j(a_i . b_j) b_j,   b~_j likewise                     soft alignment
        m_a = [a; a~; a - a~; a * a~]            m_b likewise                      enhancement
        v_a = BiLSTM(relu(m_a W + b))            v_b likewise, the same weights    composition
        output = [mean v_a; max v_a; mean v_b; max v_b]                            pooling, over the real words

    Args:
        units: Number of units of W and of each direction of the BiLSTM.
        dropout: Dropout rate after the ReLU.

    Call arguments:
        pairs: The words of both sentences, `(batch, 2, time, features)`.
        mask: `(batch, 2, time)` bool, True at real words; or None.
        training: Whether to apply dropout.

    Returns:
        `(batch, 8 units)`, in the compute dtype. A sentence without a word gives zeros in its half.

    Weights: `projection.kernel` W, `(4 features, units)`, `projection.bias` b, `(units,)`; those of `composition`, a
        `keras.layers.Bidirectional`.

    Raises:
        ValueError: If an argument is out of range.
    """

    def __init__(self, units: int = 300, dropout: float = 0.5, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = check_integer("units", units, 1)
        self.dropout = check_rate("dropout", dropout)
        dtype = self.dtype_policy
        self.projection = Dense(self.units, activation="relu", dtype=dtype)
        self.dropout_layer = keras.layers.Dropout(self.dropout, dtype=dtype)
        self.composition = build_encoder("bilstm", self.units, return_sequences=True, dtype=dtype)
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        batch, _, time, features = input_shape
        self.projection.build((batch, time, 4 * features))  # type: ignore[operator]
        self.composition.build((batch, time, self.units))
        self.built = True

    def call(self, pairs: Tensor, mask: Tensor | None = None, training: bool = False) -> Tensor:
        mask = check_mask(pairs, mask, self.name, axes=("batch", "2", "time"))
        a, b = pairs[:, 0], pairs[:, 1]
        a_mask, b_mask = (None, None) if mask is None else (mask[:, 0], mask[:, 1])
        a, b = zero_padding(a, a_mask), zero_padding(b, b_mask)
        aligned = [(a, align(a, b, b_mask)), (b, align(b, a, a_mask))]
        both = ops.concatenate([ops.concatenate([x, y, x - y, x * y], axis=-1) for x, y in aligned], axis=0)
        both_mask = None if mask is None else ops.concatenate([a_mask, b_mask], axis=0)
        x = self.dropout_layer(self.projection(both), training=training)
        v = self.composition(zero_padding(x, both_mask), mask=both_mask, training=training)
        pooled = ops.concatenate([masked_mean(v, both_mask), masked_max(v, both_mask)], axis=-1)
        return ops.concatenate(ops.split(pooled, 2, axis=0), axis=-1)

    def compute_mask(self, pairs: Tensor, mask: Tensor | None = None) -> None:
        return None

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (input_shape[0], 8 * self.units)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "dropout": self.dropout}


@keras.saving.register_keras_serializable(package="keras_slstm")
class ESIM(SentencePairClassifier):
    """Says what two sentences have to do with each other, as `SentencePairClassifier`, but compares them by words.

    An encoder reads each sentence, `LocalInference` compares their words, a tanh layer and a softmax decide. In the
    paper of the SuBiLSTM, the encoder is a BiLSTM, two of them, or a SuBiLSTM. The defaults are the settings of Chen et
    al. (2017).

    Args:
        labels, score_range, encoder, encoder_options, embedding_dim, word_dropout, embeddings_initializer,
        trainable_embeddings, kernel_regularizer, vectorizer, contextual, trainable_contextual: As of
            `SentencePairClassifier`; an encoder given as a layer returns word vectors.
        units: Size of the states of both recurrent layers, in each direction.
        mlp_units: Sizes of the hidden layers of the classifier.
        dropout: Dropout rate on the word vectors, in `LocalInference`, and before and after the hidden layers.
        **kwargs: `name`, `dtype`.

    Raises:
        ValueError: If an argument does not fit.

    Example:

    ```python
    corpus = keras_slstm.datasets.load_pair_corpus("sick/entailment")
    model = keras_slstm.models.ESIM(corpus.label_names, encoder="subilstm", units=100, mlp_units=(100,))
    model.adapt(corpus.train.texts)
    model.compile("adam")
    model.fit(corpus.train.texts, corpus.train.labels, epochs=5)
    ```

    Reference:
        [Chen et al., 2017](https://aclanthology.org/P17-1152/), [Brahma, 2018](https://arxiv.org/abs/1805.07340)
    """

    def __init__(
        self,
        labels: Sequence[str] | None = None,
        encoder: str | keras.layers.Layer = "subilstm",
        units: int = 300,
        encoder_options: dict[str, Any] | None = None,
        score_range: tuple[int, int] | None = None,
        mlp_units: Sequence[int] = (300,),
        embedding_dim: int = 300,
        dropout: float = 0.5,
        word_dropout: float = 0.0,
        embeddings_initializer: Any = "uniform",
        trainable_embeddings: bool = True,
        kernel_regularizer: Any = None,
        vectorizer: TextVectorizer | dict[str, Any] | None = None,
        contextual: keras.layers.Layer | ContextualFunction | None = None,
        trainable_contextual: bool = False,
        **kwargs: Any,
    ):
        self.units = check_integer("units", units, 1)
        super().__init__(
            labels,
            encoder,
            units,
            encoder_options,
            pooling="max",  # of no use but to say that the encoder returns word vectors
            score_range=score_range,
            mlp_units=mlp_units,
            mlp_dropout=dropout if mlp_units else 0.0,
            mlp_batch_norm=False,
            mlp_activation="tanh",
            embedding_dim=embedding_dim,
            dropout=dropout,
            word_dropout=word_dropout,
            embeddings_initializer=embeddings_initializer,
            trainable_embeddings=trainable_embeddings,
            kernel_regularizer=kernel_regularizer,
            vectorizer=vectorizer,
            contextual=contextual,
            trainable_contextual=trainable_contextual,
            **kwargs,
        )

    def count_features(self, sentence_features: int) -> int:
        # Its size, as that of the embedding, is known by now only.
        self.local_inference = LocalInference(self.units, self.embedding_dropout.rate, dtype=self.dtype_policy)
        self.local_inference.build((None, 2, None, sentence_features))
        return 8 * self.units

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Word ids `(batch, 2, time)`, 0 being padding, to probabilities `(batch, labels)`."""
        ids = words_of(inputs)
        words, _ = self.read(one_by_one(inputs), training)
        pairs = ops.reshape(words, (-1, *ops.shape(ids)[1:], words.shape[-1]))
        compared = self.local_inference(pairs, mask=ops.not_equal(ids, PADDING_ID), training=training)
        return self.decide(compared, training)

    def get_config(self) -> dict[str, Any]:
        without = ("pooling", "features", "mlp_dropout", "mlp_batch_norm", "mlp_activation")
        config = {name: value for name, value in super().get_config().items() if name not in without}
        return {**config, "units": self.units}
