"""Models that are trained on raw examples: texts, or sentences of tokens."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import keras

from keras_slstm.distribute.trainer import DistributedModel, with_callback
from keras_slstm.text.batches import Batches


class RawDataModel(DistributedModel):
    """A Keras model whose `fit` and `evaluate` take raw examples and label names as well as arrays.

    Made in the scope of a strategy of `keras_slstm.distribute`, it is trained and used on all replicas.

    A subclass recognises its examples (`as_examples`) and turns them into batches (`batches`).
    """

    @abstractmethod
    def as_examples(self, x: Any) -> list[Any] | None:
        """The raw examples that `x` holds, or None where it holds what Keras takes."""

    @abstractmethod
    def batches(self, x: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Batches:
        """Turn raw examples, their labels and their weights into batches of similar length."""

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        validation_data: Any = None,
        shuffle: bool = True,
        sample_weight: Any = None,
        callbacks: Any = None,
        validation_batch_size: int | None = None,
        **kwargs: Any,
    ) -> keras.callbacks.History:
        """As `keras.Model.fit`. `x` and `y` may be lists of raw examples and of their labels, and so may be those of
        `validation_data`; or `x` what `batches` returns, or whatever else Keras takes.
        """
        if isinstance(validation_data, (tuple, list)) and len(validation_data):
            examples = self.as_examples(validation_data[0])
            if examples is not None:
                labels, weights = (*validation_data[1:], None, None)[:2]
                size = validation_batch_size or batch_size or 32
                validation_data = self.batches(examples, _needed(labels), weights, shuffle=False, batch_size=size)
                validation_batch_size = None
        examples = self.as_examples(x)
        if examples is not None:
            if kwargs.get("validation_split"):
                raise ValueError("`validation_split` does not cut lists of raw examples: use `validation_data`.")
            x = self.batches(examples, _needed(y), sample_weight, batch_size=batch_size or 32, shuffle=shuffle)
            y = sample_weight = batch_size = None
        if isinstance(x, Batches):
            shuffle = False  # `x` shuffles by itself
            callbacks = with_callback(callbacks, x.follow_epochs())
        return super().fit(
            x,
            y,
            batch_size=batch_size,
            validation_data=validation_data,
            shuffle=shuffle,
            sample_weight=sample_weight,
            callbacks=callbacks,
            validation_batch_size=validation_batch_size,
            **kwargs,
        )

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        sample_weight: Any = None,
        **kwargs: Any,
    ) -> Any:
        """As `keras.Model.evaluate`; `x` and `y` may be lists of raw examples and of their labels."""
        examples = self.as_examples(x)
        if examples is not None:
            x = self.batches(examples, _needed(y), sample_weight, batch_size=batch_size or 32, shuffle=False)
            y = sample_weight = batch_size = None
        return super().evaluate(x, y, batch_size=batch_size, sample_weight=sample_weight, **kwargs)

    def predict(self, x: Any, batch_size: int | None = None, **kwargs: Any) -> Any:
        """As `keras.Model.predict`."""
        return super().predict(x, batch_size=batch_size, **kwargs)


def _needed(labels: Any) -> Any:
    if labels is None:
        raise ValueError("`y` is missing: give the label of each example.")
    return labels
