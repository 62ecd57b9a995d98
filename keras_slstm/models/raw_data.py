"""Base class of models that are trained on raw examples: texts, or tokenised sentences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import keras
from keras import ops

from keras_slstm.distribute.trainer import DistributedModel, with_callback
from keras_slstm.models.first_step import create_variables
from keras_slstm.models.raw_examples import Source, read_source
from keras_slstm.saving import portable_config
from keras_slstm.text.batches import Batches, count_epochs
from keras_slstm.text.epochs import SeededEpochs
from keras_slstm.text.text_vectorizer import check_texts

# The minimum number of updates between two evaluations on the development set, if training is counted in updates.
UPDATES_AN_EPOCH = 50


class RawDataModel(DistributedModel):
    """A Keras model whose `fit` and `evaluate` accept raw examples and label names as well as arrays.

    A model created in the scope of a strategy of `keras_slstm.distribute` is trained and used on all replicas.

    A subclass names the kind of its examples (`example_kind`), checks them (`check_examples`), turns them into batches
    (`batches`), and defines the default loss and metrics.
    """

    # The kind of an example: "text", "pair" or "tokens".
    example_kind = "text"

    def check_examples(self, x: Any) -> Iterable[Any]:
        """Yield the raw examples; raise ValueError at the first invalid one."""
        return check_texts(x)

    @abstractmethod
    def batches(self, x: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Batches:
        """Turn raw examples, their labels and their weights into batches of similar length."""

    def default_loss(self) -> Any:
        """The loss that `compile` uses if none is given."""
        return "sparse_categorical_crossentropy"

    def default_metrics(self) -> list[Any]:
        """The metrics that `compile` uses if none are given."""
        return ["accuracy"]

    def class_weight_by_id(self, class_weight: Mapping[str | int, float]) -> dict[int, float]:
        """Return class weights in Keras' form.

        Raises:
            ValueError: If the model does not label whole examples.
        """
        raise ValueError(
            "`class_weight` weighs examples by their label, but this model labels words. Use `sample_weight`, one "
            "number per example, or compile with your own loss."
        )

    def has_word_losses(self) -> bool:
        """Whether the loss has a value for each word, not for each example."""
        return False

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        """Like `keras.Model.compute_loss`. The weight of an example holds for all its words."""
        if sample_weight is not None and self.has_word_losses() and len(sample_weight.shape) == 1:
            # Not `broadcast_to`: Keras multiplies the weights in place on PyTorch.
            sample_weight = ops.expand_dims(sample_weight, 1) * ops.ones_like(y, dtype=sample_weight.dtype)
        return super().compute_loss(x, y, y_pred, sample_weight, training)

    def compile(self, optimizer: Any = "rmsprop", loss: Any = None, metrics: Any = None, **kwargs: Any) -> None:
        """Like `keras.Model.compile`, with suitable defaults for the loss and the metrics.

        `metrics=[]` saves the time of the default metrics.
        """
        loss = self.default_loss() if loss is None else loss
        metrics = self.default_metrics() if metrics is None else metrics
        super().compile(optimizer, loss=loss, metrics=metrics, **kwargs)

    def get_compile_config(self) -> dict[str, Any]:
        return portable_config(super().get_compile_config())

    def compile_from_config(self, config: dict[str, Any]) -> None:
        # Keras does not recompile a loaded model that overrides `compile`.
        self.compile(**keras.saving.deserialize_keras_object(portable_config(config)))
        if self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)

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
        validation_split: float = 0.0,
        class_weight: Mapping[str | int, float] | None = None,
        updates: int | None = None,
        **kwargs: Any,
    ) -> keras.callbacks.History:
        """Like `keras.Model.fit`, and also accepts raw examples with their labels.

        `x` and `y`, also in `validation_data`, may be lists, NumPy arrays, pandas series or tensors of strings. `x` may
        also be a `tf.data.Dataset` or a PyTorch `DataLoader` of strings, which is read once, the result of `batches`,
        or anything else that Keras accepts. `validation_split` takes the last examples. The keys of `class_weight` may
        be label names.

        `updates` replaces `epochs`: training ends with the epoch that reaches this number of weight updates. A model
        learns by updates, and three epochs of 80 examples are only nine updates. Raw examples that make fewer than 50
        batches are repeated within an epoch.
        """
        if updates is not None and "epochs" in kwargs:
            raise ValueError("Pass `epochs` or `updates`, not both.")
        weights = None if class_weight is None else self.class_weight_by_id(class_weight)
        source = self._read_examples(x, y, sample_weight)
        if source is not None:
            batch_size = batch_size or source.batch_size or 32
            if validation_split and validation_data is None:
                source, validation_data = _split(source, validation_split)
            validation_split = 0.0
        if validation_data is not None:
            parts = validation_data if isinstance(validation_data, (tuple, list)) else (validation_data,)
            read = self._read_examples(*(*parts, None, None)[:3])
            if read is not None:
                size = validation_batch_size or read.batch_size or batch_size or 32
                validation_data = self._labelled_batches(read, batch_size=size, shuffle=False)
                validation_batch_size = None
        if source is not None:
            least = {} if updates is None else {"min_batches": min(updates, UPDATES_AN_EPOCH)}
            x = self._labelled_batches(source, batch_size=batch_size, shuffle=shuffle, **least)
            y = sample_weight = batch_size = None
        if isinstance(x, SeededEpochs):
            shuffle = False  # `x` shuffles by itself
            create_variables(self, x[0])
            callbacks = with_callback(callbacks, x.follow_epochs())
        if updates is not None:
            kwargs["epochs"] = count_epochs(updates, x, kwargs.get("steps_per_epoch"))
        return super().fit(
            x,
            y,
            batch_size=batch_size,
            validation_data=validation_data,
            shuffle=shuffle,
            sample_weight=sample_weight,
            callbacks=callbacks,
            validation_batch_size=validation_batch_size,
            validation_split=validation_split,
            class_weight=weights,
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
        """Like `keras.Model.evaluate`, and also accepts raw examples with their labels, like `fit`."""
        source = self._read_examples(x, y, sample_weight)
        if source is not None:
            x = self._labelled_batches(source, batch_size=batch_size or source.batch_size or 32, shuffle=False)
            y = sample_weight = batch_size = None
        return super().evaluate(x, y, batch_size=batch_size, sample_weight=sample_weight, **kwargs)

    def predict(self, x: Any, batch_size: int | None = None, **kwargs: Any) -> Any:
        """Like `keras.Model.predict`."""
        return super().predict(x, batch_size=batch_size, **kwargs)

    def _read_examples(self, x: Any, y: Any = None, sample_weight: Any = None) -> Source | None:
        """The raw examples in the data with their labels, or None if it contains no raw examples."""
        source = read_source(x, y, sample_weight, self.example_kind)
        return source._replace(x=list(self.check_examples(source.x))) if self._holds_examples(source.x) else None

    def _holds_examples(self, x: Any) -> bool:
        if not isinstance(x, (list, tuple)) or not x:
            return isinstance(x, (str, list, tuple))
        nested = self.example_kind != "text" and isinstance(x[0], (list, tuple))
        return nested or any(isinstance(example, str) for example in x)

    def _labelled_batches(self, source: Source, **options: Any) -> Batches:
        if source.y is None:
            raise ValueError("`y` is missing: pass a label for each example.")
        return self.batches(source.x, source.y, source.sample_weight, **options)


def _split(source: Source, share: float) -> tuple[Source, tuple[Any, ...]]:
    """Split off the last examples, as `keras.Model.fit` does for `validation_split`."""
    count = int(len(source.x) * (1 - share))
    if not 0 < count < len(source.x):
        raise ValueError(f"`validation_split` must leave examples on both sides, but got {share} of {len(source.x)}.")
    first, last = _rows(source, slice(None, count)), _rows(source, slice(count, None))
    return first, last[:3]


def _rows(source: Source, rows: slice) -> Source:
    x, y, weights = (None if values is None else list(values)[rows] for values in source[:3])
    return Source(x, y, weights, source.batch_size)
