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

    Sentences are sorted by their padded length and divided into batches, and the batches are shuffled. Sentences
    of equal padded length are permuted in each epoch, so batches differ from epoch to epoch. The order of an epoch
    depends on `(seed, epoch)` alone. Every sentence occurs exactly once in an epoch, or, where the sentences make fewer
    than `min_batches`, as often as it takes to have so many.

    The package's own models know these batches. With another model, call
    `fit(batches, shuffle=False, callbacks=[batches.follow_epochs()])`: the shuffling of `fit` is neither
    seeded nor needed, and with the callback a training that resumes at epoch 7 gets the same batches as an
    uninterrupted one.

    Subclasses make the inputs of a batch in `inputs`, and its labels in `targets`.

    Args:
        lengths: Number of words of each sentence.
        labels: An integer, or a row of numbers, for each sentence; or None (prediction).
        sample_weight: A weight for each sentence, or None.
        batch_size: Sentences in a batch; the last batch (of the longest sentences) may be smaller.
        shuffle: Whether to shuffle as described above. Otherwise every epoch is the same, from short to long
            sentences; `restore_order` brings predictions back into the order of the sentences.
        seed: Seed of the shuffling.
        multiple_of: Lengths are padded to a multiple of this, because a model is compiled once for each length.
        max_lengths: The largest number of different padded lengths, or None for any number. They are chosen so that
            the padding is as little as possible. With the smaller last batch, 7 lengths make at most eight shapes for
            which a model is compiled.
        by_length: Whether the sentences of a batch are of similar length. Otherwise a batch is a random sample, which
            batch normalisation needs: the statistics of short and of long sentences differ.
        min_batches: The least number of batches in an epoch. A training of few sentences would otherwise spend its
            time between the epochs.

    Raises:
        ValueError: If there is no sentence, a sentence has no word, or an argument is out of range.
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
            raise ValueError("There is no sentence: `ids` is empty.")
        for position, length in enumerate(lengths):
            if not length:
                raise ValueError(f"Sentence {position} of `ids` has no word.")
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
        """The inputs of the batch of the sentences with these numbers."""
        raise NotImplementedError

    def targets(self, chosen: np.ndarray) -> np.ndarray:
        """The labels of the same batch."""
        return self.labels[chosen]

    def collate(self, chosen: np.ndarray) -> tuple[Any, ...]:
        """The batch of the sentences with these numbers: inputs, then labels and weights if there are any."""
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
        """The numbers of the sentences of each batch of the current epoch."""
        return self._order

    def shape_of(self, index: int) -> tuple[int, int]:
        """Number of sentences, and padded length, of a batch of this epoch."""
        chosen = self._order[index]
        return len(chosen), self.padded_length(chosen)

    def padded_length(self, chosen: np.ndarray) -> int:
        """The length to which the sentences with these numbers are padded together."""
        return int(self._padded[chosen].max())

    def begin_epoch(self, epoch: int) -> None:
        self._order = self._batches_of_epoch(epoch)

    def restore_order(self, outputs: np.ndarray) -> np.ndarray:
        """Bring the outputs of `predict`, a row for each sentence, into the order of the sentences."""
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
    """Sentences as lists of ids, which become arrays batch by batch.

    Args:
        ids: Word ids, a list for each sentence.
        characters: Character ids, a list for each word of each sentence, or None.
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
        """The sentences with these numbers, padded to the length of the longest, rounded up to such a multiple.

        Returns:
            `words`, `(batch, time)` int32 with 0 as padding, and, if there are any, `characters`, `(batch, time,
            width)` int32 of the same width in all batches, and `contextual`, `(batch, time, features)` float32.
        """
        arrays = {"words": pad([self.ids[i] for i in chosen], multiple_of)}
        time = arrays["words"].shape[1]
        if self.characters is not None:
            arrays["characters"] = pad_characters([self.characters[i] for i in chosen], time, self._width)
        if self.contextual is not None:
            arrays["contextual"] = self.contextual.pad(chosen, time)
        return arrays


class TextBatches(Batches):
    """Batches of sentences of similar length with one label each; see `Batches`.

    The inputs are word ids, `(batch, time)` int32 with 0 as padding. With characters or contextual vectors, they are a
    dict of these `words` and of the arrays that `Sentences.pad` adds.

    Args:
        ids, characters, contextual: See `Sentences`. A sentence has at least one word.
        labels, sample_weight: See `Batches`.
        **options: Further arguments of `Batches`.

    Raises:
        ValueError: If lengths differ, there is no sentence, or an argument is out of range.

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
        super().__init__([len(row) for row in ids], compact(labels), sample_weight, **options)
        self.sentences = Sentences(ids, characters, contextual)

    def inputs(self, chosen: np.ndarray) -> Any:
        return alone(self.sentences.pad(chosen, self.padded_length(chosen)))


def alone(arrays: dict[str, np.ndarray]) -> Any:
    """Return the words alone if there is no other input."""
    return arrays if len(arrays) > 1 else arrays["words"]


def compact(labels: Any) -> np.ndarray | None:
    """Labels as an int32 array, or as a float32 one if they are no integers; None stays None."""
    if labels is None:
        return None
    labels = np.asarray(labels)
    return labels.astype(np.int32 if labels.dtype.kind in "iu" else np.float32)


def check_lengths(sentences: int, **columns: Sized | None) -> None:
    """Raise ValueError unless every column has as many entries as there are sentences."""
    for name, values in columns.items():
        if values is not None and len(values) != sentences:
            raise ValueError(f"There are {sentences} sentences, but {len(values)} `{name}`.")


def check_words(ids: Sequence[Sequence[int]], **columns: Sequence[Sequence[Any]] | None) -> None:
    """Raise ValueError unless every column has, for each sentence, as many entries as the sentence has words."""
    for name, column in columns.items():
        for position, (words, values) in enumerate(zip(ids, column or ())):
            if len(words) != len(values):
                raise ValueError(f"Sentence {position} has {len(words)} words, but {len(values)} `{name}`.")


def count_epochs(updates: int, batches: Any, steps_per_epoch: int | None = None) -> int:
    """Return the number of epochs that make at least so many updates of the weights.

    Args:
        updates: The number of updates.
        batches: The training data.
        steps_per_epoch: As of `keras.Model.fit`. None: all batches.

    Raises:
        ValueError: If `updates` is not a positive integer, or the number of batches in an epoch is unknown.
    """
    check_integer("updates", updates, 1)
    if steps_per_epoch is not None:
        return -(-updates // steps_per_epoch)
    if not isinstance(batches, keras.utils.PyDataset):
        raise ValueError(
            "To count updates, the number of batches must be known: give raw examples, `model.batches(...)`, or "
            f"another keras.utils.PyDataset, but not {type(batches).__name__}."
        )
    return -(-updates // len(batches))


def vary_first_two(batches: list[np.ndarray], lengths: np.ndarray) -> None:
    """Put a full batch first and, if there is one, a batch of another length second.

    On TensorFlow, Keras reads the first two batches, and if they have the same length it assumes that length for all;
    distributed training needs a first batch that divides by the number of replicas.
    """
    if len(batches) < 2:
        return
    if len(batches[0]) < len(batches[1]):
        batches[0], batches[1] = batches[1], batches[0]
    longest = [lengths[batch].max() for batch in batches]
    if longest[0] == longest[1]:
        other = next((i for i, length in enumerate(longest) if length != longest[0]), 1)
        batches[1], batches[other] = batches[other], batches[1]
