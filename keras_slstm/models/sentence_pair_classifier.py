"""A sentence pair classifier: two texts in, a label name or a score out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_slstm.metrics.score_pearson import ScorePearson
from keras_slstm.models.labels import check_labels, label_ids
from keras_slstm.models.score_range import ScoreRange
from keras_slstm.models.serving import write_saved_model
from keras_slstm.models.text_classifier import TextClassifier
from keras_slstm.ops.pair_features import PAIR_FEATURES, pair_features
from keras_slstm.text.pair_batches import PairBatches
from keras_slstm.text.word_vectors import WordVectors

Pair = tuple[str, str]


@keras.saving.register_keras_serializable(package="keras_slstm")
class SentencePairClassifier(TextClassifier):
    """Classifies or scores sentence pairs, for example by entailment or by similarity.

    One encoder reads each sentence independently, and a classifier reads features of the two vectors:

        P(y | s1, s2) = softmax(W MLP(phi(s1, s2)) + b)                             (eq. 14)
        phi = [s1; s2; |s1 - s2|; s1 * s2]     features="inference"                 (eq. 15)
        phi = [|s1 - s2|; s1 * s2]             features="paraphrase"                (eq. 16)

    The model accepts pairs of texts and returns label names (`classify`). With `score_range` instead of labels, it
    returns scores (`score`): the expectation over the probabilities of the integers in that range, trained with the
    Kullback-Leibler divergence from the distribution of the true score (Tai, Socher and Manning, 2015; see
    `ScoreRange`). A saved `.keras` file includes the vocabulary and the labels. As a Keras model, it maps word ids
    `(batch, 2, time)`, with 0 as padding, to probabilities `(batch, labels)`; callbacks, mixed precision and saving
    work as in Keras.

    The defaults are the settings of Choi, Kim and Lee (2019) for inference, except that they keep the word vectors
    fixed.

    Args:
        labels: The label names, at least two. None with `score_range`.
        encoder, units, encoder_options, pooling: See `SentenceClassifier`.
        features: `"inference"` or `"paraphrase"`, see above. The latter is symmetric in the two sentences.
        score_range: Lowest and highest score, two integers such as `(1, 5)`.
        **options: Further arguments of `SentenceClassifier`, with other defaults: `mlp_units=(1024,)`,
            `mlp_dropout=0.1`, `mlp_batch_norm=True`, `dropout=0.1`.

    Raises:
        ValueError: If an argument is invalid. The output of the encoder is checked in `adapt`.

    Example:

    ```python
    corpus = keras_slstm.datasets.load_pair_corpus("sick/entailment")
    model = keras_slstm.SentencePairClassifier(corpus.label_names, encoder="bi_caslstm", units=100)
    model.adapt(corpus.train.texts)
    model.compile("adam")
    model.fit(corpus.train.texts, corpus.train.labels, epochs=5)
    model.save("entailment.keras")

    model = keras.saving.load_model("entailment.keras")
    model.classify([("A dog runs", "An animal moves")])  # ["entailment"]
    ```

    Reference:
        [Choi, Kim and Lee, 2019](https://proceedings.mlr.press/v101/choi19a.html)
    """

    example_kind = "pair"
    sentence_axes = (2,)

    def __init__(
        self,
        labels: Sequence[str] | None = None,
        encoder: str | keras.layers.Layer = "bi_caslstm",
        units: int = 300,
        *,
        features: str = "inference",
        score_range: tuple[int, int] | None = None,
        **options: Any,
    ):
        if (labels is None) == (score_range is None):
            raise ValueError(
                f"Pass either `labels` or `score_range`, but got labels={labels!r}, score_range={score_range!r}."
            )
        if features not in PAIR_FEATURES:
            raise ValueError(f"`features` must be one of {tuple(PAIR_FEATURES)}, but got {features!r}.")
        scores = None if score_range is None else ScoreRange(score_range)
        names = () if labels is None else check_labels(labels)
        defaults = {"mlp_units": (1024,), "mlp_dropout": 0.1, "mlp_batch_norm": True, "dropout": 0.1}
        super().__init__(len(scores.levels) if scores else len(names), encoder, units, **{**defaults, **options})
        self.labels = names
        self.features = features
        self._scores = scores
        if self.vectorizer.is_adapted:
            self.build()

    @property
    def score_range(self) -> tuple[int, int] | None:
        """Lowest and highest score; None for a model with labels."""
        return (self._scores.low, self._scores.high) if self._scores else None

    def adapt(self, x: Iterable[Pair] | Counter[str], vectors: WordVectors | None = None) -> None:
        """Learn the vocabulary from the texts of the training pairs; see `SentenceClassifier.adapt`."""
        super().adapt(x if isinstance(x, Counter) else (text for pair in check_pairs(x) for text in pair), vectors)

    def count_features(self, sentence_features: int) -> int:
        return PAIR_FEATURES[self.features] * sentence_features

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Map word ids `(batch, 2, time)`, with 0 as padding, to probabilities `(batch, labels)`."""
        sentences = self.encode(one_by_one(inputs), training)
        pairs = ops.reshape(sentences, (-1, 2, sentences.shape[-1]))
        return self.decide(pair_features(pairs[:, 0], pairs[:, 1], self.features), training)

    def default_loss(self) -> Any:
        return "kl_divergence" if self._scores else super().default_loss()

    def default_metrics(self) -> list[Any]:
        return [ScorePearson()] if self._scores else super().default_metrics()

    # Pairs of texts in, label names or scores out.

    def check_examples(self, x: Any) -> Iterator[Pair]:
        return check_pairs(x)

    def batches(
        self,
        x: Iterable[Pair],
        y: Iterable[str] | Iterable[float] | None = None,
        sample_weight: Sequence[float] | None = None,
        **options: Any,
    ) -> PairBatches:
        """Turn pairs of texts and label names (or scores) into batches of similar length, as `fit` does.

        Args:
            x: The pairs.
            y: One label name or score per pair, or None.
            sample_weight: One weight per pair, or None.
            **options: Further arguments of `PairBatches`: `batch_size`, `shuffle`, `seed`, `multiple_of`,
                `max_lengths`, `by_length`, `min_batches`. With batch normalisation, training batches are random
                samples.

        Raises:
            ValueError: If a label is unknown or a score out of range (with its position), or there is no vocabulary
                yet.
        """
        pairs = list(check_pairs(x))
        columns = self.vectorize([text for pair in pairs for text in pair])
        ids = columns.pop("ids")
        targets: np.ndarray | None = None
        if y is not None:
            targets = self._scores.encode(y) if self._scores else label_ids(self.labels, y)  # type: ignore[arg-type]
        return PairBatches(ids[::2], ids[1::2], targets, sample_weight, **columns, **self.batch_options(options))

    def score(self, pairs: Sequence[Pair], batch_size: int = 32) -> np.ndarray:
        """Return the score of each pair.

        Args:
            pairs: A list of pairs of texts.
            batch_size: Pairs per batch.

        Returns:
            One number per pair, within `score_range`.

        Raises:
            ValueError: If the model predicts labels.
        """
        if not self._scores:
            raise ValueError("This model predicts labels, not scores: use `classify`.")
        return self._scores.decode(self.predict(list(check_pairs(pairs)), batch_size=batch_size, verbose=0))

    # Saving and export.

    def export_text(self, filepath: str) -> None:
        """Write a TensorFlow SavedModel that accepts raw strings, for serving without this package.

        Its signature `serving_default` maps `first` and `second`, `(batch,)` string tensors, to `probabilities`,
        `(batch, labels)`, and to `label`, `(batch,)` strings, or `score`, `(batch,)`. Its signature `labels` and its
        file `assets.extra/labels.txt` hold the label names in the order of the probabilities.

        Args:
            filepath: The folder to write.

        Raises:
            RuntimeError: If the backend is not TensorFlow.
            ValueError: If `contextual` is a function.
        """
        self.check_string_export("export_text")
        import tensorflow as tf

        encode, tables = self.vectorizer.tensorflow_function()
        labels = tf.constant(self.labels, tf.string)

        def serve(first: Any, second: Any) -> dict[str, Any]:
            read = encode(tf.concat([first, second], axis=0))
            pairs = tf.nest.map_structure(lambda x: tf.stack(tf.split(x, 2), axis=1), read)
            probabilities = self(pairs, training=False)
            if self._scores:
                levels = tf.constant(self._scores.levels, probabilities.dtype)
                return {"probabilities": probabilities, "score": tf.linalg.matvec(probabilities, levels)}
            return {"probabilities": probabilities, "label": tf.gather(labels, tf.argmax(probabilities, axis=-1))}

        write_saved_model(filepath, self, tables, serve, {"first": [None], "second": [None]}, self.labels)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "labels": list(self.labels) or None}


def one_by_one(inputs: Any) -> Any:
    """Flatten pairs, `(batch, 2, ...)`, to twice as many sentences, so that the recurrence runs once."""
    return keras.tree.map_structure(lambda x: ops.reshape(x, (-1, *ops.shape(x)[2:])), inputs)


def check_pairs(pairs: Iterable[Any]) -> Iterator[Pair]:
    """Yield the pairs; raise ValueError at the first element that is not a pair."""
    if isinstance(pairs, str):
        raise ValueError(f"Pass a list of pairs of texts, not one string: {pairs[:50]!r}.")
    for position, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise ValueError(f"Pair {position} must be two texts, but is {pair!r}.")
        yield pair[0], pair[1]
