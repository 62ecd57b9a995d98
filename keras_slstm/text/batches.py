"""Batches of sentences of similar length."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import keras
import numpy as np

from keras_slstm.text.buckets import bucket_lengths
from keras_slstm.text.characters import WIDTH_MULTIPLE, pad_characters
from keras_slstm.text.contextual_vectors import ContextualVectors
from keras_slstm.text.epochs import SeededEpochs
from keras_slstm.text.text_vectorizer import pad, round_up
from keras_slstm.validation import check_integer


class Batches(SeededEpochs):
    """Batches of sentences of similar length, for `fit`, `evaluate` and `predict` on every backend.

    Sentences are sorted by their padded length and divided into batches, and the batches are shuffled. Sentences of
    equal padded length are permuted in each epoch, so batches differ from epoch to epoch. The order of an epoch depends
    on `(seed, epoch)` alone. Every sentence occurs exactly once in an epoch, unless the epoch repeats them to reach
    `min_batches`.

    The models of this package accept these batches directly. With another model, call `fit(batches, shuffle=False,
    callbacks=[batches.follow_epochs()])`: the shuffling of `fit` is not seeded and not needed, and the callback makes a
    run that resumes at epoch 7 see the same batches as an uninterrupted run.

    Subclasses implement `inputs`, and override `targets` where labels need padding.

    Args:
        lengths: Number of words of each sentence.
        labels: An integer or a row of numbers for each sentence. None for prediction.
        sample_weight: A weight for each sentence, or None.
        batch_size: Sentences per batch. The last batch (of the longest sentences) may be smaller.
        shuffle: Whether to shuffle as described above. Otherwise every epoch runs from short to long sentences, and
            `restore_order` returns predictions to the original order.
        seed: Seed for shuffling.
        multiple_of: Lengths are padded to a multiple of this, because a model is compiled once for each length.
        max_lengths: Maximum number of distinct padded lengths, chosen to minimise padding. None: no limit. With the
            smaller last batch, 7 lengths give at most eight shapes for which a model is compiled.
        by_length: Whether a batch holds sentences of similar length. Otherwise it is a random sample, as batch
            normalisation needs: short and long sentences have different statistics.
        min_batches: Minimum number of batches per epoch. With few sentences, the overhead between epochs would
            otherwise dominate the training time.

    Raises:
        ValueError: If there are no sentences, a sentence has no words, or an argument is out of range.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        labels: Any = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        *,
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int = 0,
        multiple_of: int = 8,
        max_lengths: int | None = 7,
        by_length: bool = True,
        min_batches: int = 1,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if not len(lengths):
            raise ValueError("There are no sentences: `ids` is empty.")
        for position, length in enumerate(lengths):
            if not length:
                raise ValueError(f"Sentence {position} of `ids` has no words.")
        check_lengths(len(lengths), labels=labels, sample_weight=sample_weight)
        self.labels = labels
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight, np.float32)
        self.batch_size = check_integer("batch_size", batch_size, 1)
        self.shuffle = shuffle
        self.seed = seed
        self.multiple_of = check_integer("multiple_of", multiple_of, 1)
        self.by_length = by_length
        self.min_batches = check_integer("min_batches", min_batches, 1)
        self._lengths = np.array([round_up(length, multiple_of) for length in lengths])
        self.max_lengths = None if max_lengths is None else check_integer("max_lengths", max_lengths, 1)
        self._padded = self._lengths if self.max_lengths is None else bucket_lengths(self._lengths, self.max_lengths)
        self._order = self._batches_of_epoch(0)

    def inputs(self, chosen: np.ndarray) -> Any:
        """The inputs of the batch of these sentences (indices)."""
        raise NotImplementedError

    def targets(self, chosen: np.ndarray) -> np.ndarray:
        """The labels of the same batch."""
        return self.labels[chosen]

    def collate(self, chosen: np.ndarray) -> tuple[Any, ...]:
        """The batch of these sentences: inputs, then labels and weights if there are any."""
        if self.labels is None:
            return (self.inputs(chosen),)
        batch = self.inputs(chosen), self.targets(chosen)
        return batch if self.sample_weight is None else (*batch, self.sample_weight[chosen])

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return self.collate(self._order[index])

    @property
    def order(self) -> list[np.ndarray]:
        """The indices of the sentences in each batch of the current epoch."""
        return self._order

    def shape_of(self, index: int) -> tuple[int, int]:
        """Number of sentences and padded length of a batch of the current epoch."""
        chosen = self._order[index]
        return len(chosen), self.padded_length(chosen)

    def padded_length(self, chosen: np.ndarray) -> int:
        """The length to which these sentences are padded in one batch."""
        return int(self._padded[chosen].max())

    def begin_epoch(self, epoch: int) -> None:
        self._order = self._batches_of_epoch(epoch)

    def restore_order(self, outputs: np.ndarray) -> np.ndarray:
        """Return the outputs of `predict`, one row per sentence, to the original order of the sentences."""
        restored = np.empty_like(outputs)
        restored[np.concatenate(self._order)] = outputs
        return restored

    def _batches_of_epoch(self, epoch: int) -> list[np.ndarray]:
        generator = np.random.default_rng((self.seed, epoch))
        batches = self._batches_of_pass(generator)
        while len(batches) < self.min_batches:
            batches += self._batches_of_pass(generator)
        vary_first_two(batches, self._padded)
        return batches

    def _batches_of_pass(self, generator: np.random.Generator) -> list[np.ndarray]:
        order = np.arange(len(self._lengths))
        if self.shuffle:
            order = generator.permutation(order)
        if self.by_length:
            order = order[np.argsort(self._lengths[order], kind="stable")]
        batches = np.split(order, range(self.batch_size, len(order), self.batch_size))
        return [batches[i] for i in generator.permutation(len(batches))] if self.shuffle else batches


class Sentences:
    """Sentences as lists of ids, padded to arrays batch by batch.

    Args:
        ids: A list of word ids for each sentence.
        characters: A list of character ids for each word of each sentence, or None.
        contextual: The `ContextualVectors` of the sentences, or None.

    Raises:
        ValueError: If lengths differ.
    """

    def __init__(
        self,
        ids: Sequence[Sequence[int]],
        characters: Sequence[Sequence[Sequence[int]]] | None = None,
        contextual: ContextualVectors | None = None,
    ):
        check_lengths(len(ids), characters=characters, contextual=contextual)
        check_words(ids, characters=characters)
        self.ids = ids
        self.characters = characters
        self.contextual = contextual
        longest = max((len(word) for words in characters or () for word in words), default=0)
        self._width = round_up(longest, WIDTH_MULTIPLE)

    def pad(self, chosen: Sequence[int] | np.ndarray, multiple_of: int) -> dict[str, np.ndarray]:
        """Pad these sentences to the length of the longest, rounded up to a multiple of `multiple_of`.

        Returns:
            `words`, `(batch, time)` int32 with 0 as padding, and, if present, `characters`, `(batch, time, width)`
            int32 with the same width in all batches, and `contextual`, `(batch, time, features)` float32.
        """
        arrays = {"words": pad([self.ids[i] for i in chosen], multiple_of)}
        time = arrays["words"].shape[1]
        if self.characters is not None:
            arrays["characters"] = pad_characters([self.characters[i] for i in chosen], time, self._width)
        if self.contextual is not None:
            arrays["contextual"] = self.contextual.pad(chosen, time)
        return arrays


class TextBatches(Batches):
    """Batches of sentences of similar length with one label per sentence; see `Batches`.

    The inputs are word ids, `(batch, time)` int32 with 0 as padding. With characters or contextual vectors, they are
    the dict that `Sentences.pad` returns.

    Args:
        ids, characters, contextual: See `Sentences`. A sentence has at least one word.
        labels, sample_weight: See `Batches`.
        **options: Further arguments of `Batches`.

    Raises:
        ValueError: If lengths differ, there are no sentences, or an argument is out of range.

    Example:

    >>> batches = TextBatches([[2, 3], [4], [5, 6, 7]], labels=[0, 1, 0], batch_size=2, multiple_of=2)
    >>> sorted(x.shape for x, y in batches)
    [(1, 4), (2, 2)]
    """

    def __init__(
        self,
        ids: Sequence[Sequence[int]],
        labels: Sequence[int] | np.ndarray | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        *,
        characters: Sequence[Sequence[Sequence[int]]] | None = None,
        contextual: ContextualVectors | None = None,
        **options: Any,
    ):
        super().__init__([len(row) for row in ids], label_array(labels), sample_weight, **options)
        self.sentences = Sentences(ids, characters, contextual)

    def inputs(self, chosen: np.ndarray) -> Any:
        return words_or_dict(self.sentences.pad(chosen, self.padded_length(chosen)))


def words_or_dict(arrays: dict[str, np.ndarray]) -> Any:
    """Return only the array of words if there is no other input."""
    return arrays if len(arrays) > 1 else arrays["words"]


def label_array(labels: Any) -> np.ndarray | None:
    """Integer labels as an int32 array, others as float32; None stays None."""
    if labels is None:
        return None
    labels = np.asarray(labels)
    return labels.astype(np.int32 if labels.dtype.kind in "iu" else np.float32)


def check_lengths(sentences: int, **columns: Sized | None) -> None:
    """Raise ValueError unless every column has one entry per sentence."""
    for name, values in columns.items():
        if values is not None and len(values) != sentences:
            raise ValueError(f"There are {sentences} sentences, but {len(values)} `{name}`.")


def check_words(ids: Sequence[Sequence[int]], **columns: Sequence[Sequence[Any]] | None) -> None:
    """Raise ValueError unless every column has one entry per word of each sentence."""
    for name, column in columns.items():
        for position, (words, values) in enumerate(zip(ids, column or ())):
            if len(words) != len(values):
                raise ValueError(f"Sentence {position} has {len(words)} words, but {len(values)} `{name}`.")


def count_epochs(updates: int, batches: Any, steps_per_epoch: int | None = None) -> int:
    """Return the number of epochs that perform at least `updates` weight updates.

    Args:
        updates: Number of weight updates.
        batches: The training data.
        steps_per_epoch: As in `keras.Model.fit`. None: all batches.

    Raises:
        ValueError: If `updates` is not a positive integer, or the number of batches in an epoch is unknown.
    """
    check_integer("updates", updates, 1)
    if steps_per_epoch is not None:
        return -(-updates // steps_per_epoch)
    if not isinstance(batches, keras.utils.PyDataset):
        raise ValueError(
            "The number of batches must be known to count updates: pass raw examples, `model.batches(...)` or "
            f"another keras.utils.PyDataset, not {type(batches).__name__}."
        )
    return -(-updates // len(batches))


def vary_first_two(batches: list[np.ndarray], lengths: np.ndarray) -> None:
    """Put a full batch first and, if there is one, a batch of another length second.

    On TensorFlow, Keras infers the input shape from the first two batches and fixes the length if both have the same.
    Distributed training needs a first batch whose size is divisible by the number of replicas.
    """
    if len(batches) < 2:
        return
    if len(batches[0]) < len(batches[1]):
        batches[0], batches[1] = batches[1], batches[0]
    longest = [lengths[batch].max() for batch in batches]
    if longest[0] == longest[1]:
        other = next((i for i, length in enumerate(longest) if length != longest[0]), 1)
        batches[1], batches[other] = batches[other], batches[1]
