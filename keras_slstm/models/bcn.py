"""The Biattentive Classification Network (McCann et al., 2017), as used by Brahma (2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_slstm.layers.biattentive_encoder import BiattentiveEncoder
from keras_slstm.models.encoders import make_encoder
from keras_slstm.models.sentence_classifier import SentenceClassifier
from keras_slstm.models.text_classifier import MLP_OPTIONS
from keras_slstm.models.text_model import check_not_given


@keras.saving.register_keras_serializable(package="keras_slstm")
class BCN(SentenceClassifier):
    """Sentence classifier with a `BiattentiveEncoder` between the words and the softmax.

    The SuBiLSTM paper uses a BiLSTM, two stacked BiLSTMs or a SuBiLSTM as the first encoder. As in that paper, and
    unlike McCann et al. (2017), there is no dense layer below it, and dropout is applied only to the word vectors and
    the input of the softmax.

    Args:
        labels: The label names, at least two.
        encoder: The first encoder: a name (see `build_encoder`), or a Keras layer that maps `(batch, time,
            embedding_dim)` and a `mask` to word vectors.
        units: Size of the states of both recurrent layers, in each direction.
        encoder_options: Further arguments of an encoder given by name, such as `{"combine": "gate"}`.
        reductions: The factor by which each maxout layer reduces the number of features.
        maxout_dropout: Dropout rate after the last maxout layer.
        maxout_batch_norm: Whether to batch-normalise the input of each maxout layer.
        embedding_dim, dropout, word_dropout, embeddings_initializer, trainable_embeddings: See `SentenceClassifier`.
        kernel_regularizer, vectorizer, contextual, trainable_contextual: See `SentenceClassifier`.
        **kwargs: `name`, `dtype`.

    Raises:
        ValueError: If an argument is invalid.

    Example:

    ```python
    model = keras_slstm.models.BCN(corpus.label_names, encoder="subilstm", units=100, embedding_dim=100)
    model.adapt(corpus.train.texts)
    model.compile("adam")
    model.fit(corpus.train.texts, corpus.train.labels, epochs=5)
    ```

    Reference:
        [McCann et al., 2017](https://arxiv.org/abs/1708.00107), [Brahma, 2018](https://arxiv.org/abs/1805.07340)
    """

    def __init__(
        self,
        labels: Sequence[str],
        encoder: str | keras.layers.Layer = "subilstm",
        units: int = 300,
        *,
        encoder_options: dict[str, Any] | None = None,
        reductions: Sequence[int] = (4, 2),
        maxout_dropout: float = 0.3,
        maxout_batch_norm: bool = True,
        **options: Any,
    ):
        check_not_given(self, options, "pooling", *MLP_OPTIONS)
        dtype = keras.dtype_policies.get(options.get("dtype"))
        if not isinstance(encoder, BiattentiveEncoder):  # as in a config
            encoder = make_encoder(encoder, units, encoder_options, True, dtype)
            encoder = BiattentiveEncoder(encoder, units, reductions, maxout_dropout, maxout_batch_norm, dtype=dtype)
            encoder_options = None
        defaults = {"dropout": 0.3, "trainable_embeddings": False}
        super().__init__(labels, encoder, units, encoder_options=encoder_options, **{**defaults, **options})

    @property
    def reductions(self) -> tuple[int, ...]:
        return self.encoder.reductions

    @property
    def maxout_dropout(self) -> float:
        return self.encoder.dropout

    @property
    def maxout_batch_norm(self) -> bool:
        return self.encoder.batch_norm

    def has_batch_norm(self) -> bool:
        return self.maxout_batch_norm

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()  # its encoder is the `BiattentiveEncoder`
        return {name: value for name, value in config.items() if name != "pooling" and not name.startswith("mlp_")}
