"""Batches of sentences of similar length."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import keras
import numpy as np

from keras_slstm.text.characters import WIDTH_MULTIPLE, pad_characters
from keras_slstm.text.contextual_vectors import ContextualVectors
from keras_slstm.text.text_vectorizer import pad, round_up


class Batches(keras.utils.PyDataset):
    """Batches of sentences of similar length, for `fit`, `evaluate` and `predict` on every backend.

    Sentences are sorted by their padded length and divided into batches, and the batches are shuffled. Sentences
    of equal padded length are permuted in each epoch, so batches differ from epoch to epoch. The order of an epoch
    depends on `(seed, epoch)` alone. Every sentence occurs exactly once in an epoch.

    The package's own models know these batches. With another model, call
    `fit(batches, shuffle=False, callbacks=[batches.follow_epochs()])`: the shuffling of `fit` is neither
    seeded nor needed, and with the callback a training that resumes at epoch 7 gets the same batches as an
    uninterrupted one.

    Subclasses build the arrays of a batch in `collate`.

    Args:
        lengths: Number of words of each sentence.
        batch_size: Sentences in a batch; the last batch (of the longest sentences) may be smaller.
        shuffle: Whether to shuffle as described above. Otherwise every epoch is the same, from short to long
            sentences; `restore_order` brings predictions back into the order of the sentences.
        seed: Seed of the shuffling.
        multiple_of: Lengths are padded to a multiple of this, because a model is compiled once for each length.

    Raises:
        ValueError: If there is no sentence, a sentence has no word, or an argument is out of range.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int = 0,
        multiple_of: int = 8,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        for name, value in (("batch_size", batch_size), ("multiple_of", multiple_of)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"`{name}` must be an integer of at least 1, but got {value!r}.")
        if not len(lengths):
            raise ValueError("There is no sentence: `ids` is empty.")
        for position, length in enumerate(lengths):
            if not length:
                raise ValueError(f"Sentence {position} of `ids` has no word.")
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.multiple_of = multiple_of
        self._next_epoch = 0
        self._lengths = np.array([round_up(length, multiple_of) for length in lengths])
        self._order = self._batches_of_epoch(0)

    def collate(self, chosen: np.ndarray) -> tuple[Any, ...]:
        """The batch of the sentences with these numbers: inputs, then labels and weights if there are any."""
        raise NotImplementedError

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
        return len(chosen), int(self._lengths[chosen].max())

    def on_epoch_begin(self) -> None:
        """Go on to the order of the next epoch."""
        # On some backends Keras calls this once more while it builds the model, which is why `follow_epochs` exists.
        self._order = self._batches_of_epoch(self._next_epoch)
        self._next_epoch += 1

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the next epoch."""
        self._next_epoch = epoch

    def follow_epochs(self) -> keras.callbacks.Callback:
        """A callback that keeps these batches at the epoch of `fit`, `initial_epoch` included."""
        return keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: self.set_epoch(epoch))

    def restore_order(self, outputs: np.ndarray) -> np.ndarray:
        """Bring the outputs of `predict`, a row for each sentence, into the order of the sentences."""
        restored = np.empty_like(outputs)
        restored[np.concatenate(self._order)] = outputs
        return restored

    def _batches_of_epoch(self, epoch: int) -> list[np.ndarray]:
        order = np.arange(len(self._lengths))
        generator = np.random.default_rng((self.seed, epoch))
        if self.shuffle:
            order = generator.permutation(order)
        order = order[np.argsort(self._lengths[order], kind="stable")]
        batches = np.split(order, range(self.batch_size, len(order), self.batch_size))
        if self.shuffle:
            batches = [batches[i] for i in generator.permutation(len(batches))]
        _vary_first_two(batches, self._lengths)
        return batches


class TextBatches(Batches):
    """Batches of sentences of similar length with one label each; see `Batches`.

    The inputs are word ids, `(batch, time)` int32 with 0 as padding. With characters or contextual vectors, they are a
    dict of these `words` and of `characters`, `(batch, time, width)` int32 of the same width in all batches, and
    `contextual`, `(batch, time, features)` float32.

    Args:
        ids: Word ids, a non-empty list for each sentence.
        labels: An integer for each sentence, or None (prediction).
        sample_weight: A weight for each sentence, or None.
        batch_size, shuffle, seed, multiple_of: See `Batches`.
        characters: Character ids, a list for each word of each sentence, or None.
        contextual: The `ContextualVectors` of the sentences, or None.

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
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int = 0,
        multiple_of: int = 8,
        characters: Sequence[Sequence[Sequence[int]]] | None = None,
        contextual: ContextualVectors | None = None,
        **kwargs: Any,
    ):
        super().__init__([len(row) for row in ids], batch_size, shuffle, seed, multiple_of, **kwargs)
        columns = {"labels": labels, "sample_weight": sample_weight, "characters": characters, "contextual": contextual}
        check_lengths(len(ids), **columns)
        for position, (words, spelled) in enumerate(zip(ids, characters or ())):
            if len(words) != len(spelled):
                raise ValueError(f"Sentence {position} has {len(words)} words, but {len(spelled)} `characters`.")
        self.ids = ids
        self.labels = None if labels is None else np.asarray(labels, np.int32)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight, np.float32)
        self.characters = characters
        self.contextual = contextual
        longest = max((len(word) for words in characters or () for word in words), default=0)
        self._width = round_up(longest, WIDTH_MULTIPLE)

    def collate(self, chosen: np.ndarray) -> tuple[Any, ...]:
        words = pad([self.ids[i] for i in chosen], self.multiple_of)
        further = {}
        if self.characters is not None:
            further["characters"] = pad_characters([self.characters[i] for i in chosen], words.shape[1], self._width)
        if self.contextual is not None:
            further["contextual"] = self.contextual.pad(chosen, words.shape[1])
        batch: tuple[Any, ...] = ({"words": words, **further} if further else words,)
        if self.labels is not None:
            batch += (self.labels[chosen],)
            if self.sample_weight is not None:
                batch += (self.sample_weight[chosen],)
        return batch


def check_lengths(sentences: int, **columns: Sized | None) -> None:
    """Raise ValueError unless every column has as many entries as there are sentences."""
    for name, values in columns.items():
        if values is not None and len(values) != sentences:
            raise ValueError(f"There are {sentences} sentences, but {len(values)} `{name}`.")


def _vary_first_two(batches: list[np.ndarray], lengths: np.ndarray) -> None:
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
