"""Batches of sentence pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_slstm.text.batches import Batches, Sentences, check_lengths, label_array, words_or_dict
from keras_slstm.text.contextual_vectors import ContextualVectors


class PairBatches(Batches):
    """Batches of sentence pairs of similar length; see `Batches`.

    The length of a pair is the length of its longer sentence. The inputs of a batch are word ids, `(batch, 2, time)`
    int32 with 0 as padding. With characters or contextual vectors, they are the dict that `Sentences.pad` returns, each
    array with the same two leading axes.

    Args:
        first: A non-empty list of word ids for the first sentence of each pair.
        second: The same for the second sentence.
        labels, sample_weight: See `Batches`.
        characters, contextual: See `Sentences`; the first and second sentences of the pairs alternate.
        **options: Further arguments of `Batches`.

    Raises:
        ValueError: If lengths differ, there are no pairs, a sentence is empty, or an argument is out of range.

    Example:

    >>> batches = PairBatches([[2, 3], [4]], [[5], [6]], labels=[0, 1], batch_size=2, multiple_of=2, shuffle=False)
    >>> batches[0]
    (array([[[2, 3],
            [5, 0]],
    <BLANKLINE>
           [[4, 0],
            [6, 0]]], dtype=int32), array([0, 1], dtype=int32))
    """

    def __init__(
        self,
        first: Sequence[Sequence[int]],
        second: Sequence[Sequence[int]],
        labels: Sequence[int] | np.ndarray | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        *,
        characters: Sequence[Sequence[Sequence[int]]] | None = None,
        contextual: ContextualVectors | None = None,
        **options: Any,
    ):
        check_lengths(len(first), second=second)
        # `Batches` rejects length 0, which marks a pair with an empty sentence.
        lengths = [max(len(a), len(b)) if a and b else 0 for a, b in zip(first, second)]
        super().__init__(lengths, label_array(labels), sample_weight, **options)
        self.sentences = Sentences([ids for pair in zip(first, second) for ids in pair], characters, contextual)

    def inputs(self, chosen: np.ndarray) -> Any:
        arrays = self.sentences.pad(np.ravel(2 * chosen[:, None] + [0, 1]), self.padded_length(chosen))
        return words_or_dict({name: array.reshape(len(chosen), 2, *array.shape[1:]) for name, array in arrays.items()})
