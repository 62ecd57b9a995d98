"""The Enhanced Sequential Inference Model (Chen et al., ACL 2017), which compares two sentences word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_slstm.layers.local_inference import LocalInference
from keras_slstm.models.sentence_pair_classifier import SentencePairClassifier, one_by_one
from keras_slstm.models.text_classifier import MLP_OPTIONS
from keras_slstm.models.text_model import check_not_given, words_of
from keras_slstm.text.vocabulary import PADDING_ID


@keras.saving.register_keras_serializable(package="keras_slstm")
class ESIM(SentencePairClassifier):
    """Sentence pair classifier that compares the two sentences word by word.

    An encoder reads each sentence, `LocalInference` compares their words, and a tanh layer and a softmax classify the
    result. The SuBiLSTM paper uses a BiLSTM, two stacked BiLSTMs or a SuBiLSTM as the encoder. The defaults are the
    settings of Chen et al. (2017).

    Args:
        labels, score_range, encoder, encoder_options, embedding_dim, word_dropout: See `SentencePairClassifier`. An
            encoder that is given as a layer must return word vectors. embeddings_initializer, trainable_embeddings,
            kernel_regularizer, vectorizer: See `SentencePairClassifier`.
        contextual, trainable_contextual: See `SentencePairClassifier`.
        units: Size of the states of both recurrent layers, in each direction.
        mlp_units: Sizes of the hidden layers of the classifier.
        dropout: Dropout rate on the word vectors, in `LocalInference`, and before and after the hidden layers.
        **kwargs: `name`, `dtype`.

    Raises:
        ValueError: If an argument is invalid.

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
        *,
        mlp_units: Sequence[int] = (300,),
        dropout: float = 0.5,
        **options: Any,
    ):
        check_not_given(self, options, "pooling", "features", *MLP_OPTIONS[1:])
        super().__init__(
            labels,
            encoder,
            units,
            pooling="max",  # makes the encoder return word vectors; nothing is pooled
            mlp_units=mlp_units,
            mlp_dropout=dropout if mlp_units else 0.0,
            mlp_batch_norm=False,
            mlp_activation="tanh",
            dropout=dropout,
            **options,
        )

    def count_features(self, sentence_features: int) -> int:
        # As with the embedding, the size is only known now.
        self.local_inference = LocalInference(self.units, self.dropout, dtype=self.dtype_policy)
        self.local_inference.build((None, 2, None, sentence_features))
        return 8 * self.units

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Map word ids `(batch, 2, time)`, with 0 as padding, to probabilities `(batch, labels)`."""
        ids = words_of(inputs)
        words, _ = self.read(one_by_one(inputs), training)
        pairs = ops.reshape(words, (-1, *ops.shape(ids)[1:], words.shape[-1]))
        compared = self.local_inference(pairs, mask=ops.not_equal(ids, PADDING_ID), training=training)
        return self.decide(compared, training)

    def get_config(self) -> dict[str, Any]:
        without = ("pooling", "features", "mlp_dropout", "mlp_batch_norm", "mlp_activation")
        return {name: value for name, value in super().get_config().items() if name not in without}
