"""Maps the word pieces of pretrained encoders to words, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_slstm.ops.masks import zero_padding
from keras_slstm.types import Tensor
from keras_slstm.validation import check_choice

NO_WORD = -1


def word_ids(words_of_pieces: Sequence[Sequence[int | None]], length: int | None = None) -> np.ndarray:
    """Return the word of each piece as an array, `(batch, pieces)` int32; -1 for pieces that belong to no word.

    Args:
        words_of_pieces: For each sentence the word of each piece, or None, as Hugging Face tokenizers return it.
        length: The number of pieces to pad to; None for the length of the longest sentence.

    >>> word_ids([[None, 0, 0, 1, None], [None, 0, None]]).tolist()
    [[-1, 0, 0, 1, -1], [-1, 0, -1, -1, -1]]
    """
    rows = [[NO_WORD if word is None else word for word in words] for words in words_of_pieces]
    found = np.full((len(rows), max(map(len, rows), default=0) if length is None else length), NO_WORD, "int32")
    for row, words in zip(found, rows):
        row[: len(words)] = words[: len(row)]
    return found


def pool_word_pieces(vectors: Tensor, words: Any, method: str = "first") -> tuple[Tensor, Tensor]:
    """Pool the vectors of word pieces into word vectors.

    Args:
        vectors: `(batch, pieces, features)`.
        words: `(batch, pieces)`: the word of each piece, counted from 0 in each sentence, -1 for none (`word_ids`).
        method: `"first"` or `"last"` piece of a word, or the `"mean"` of its pieces.

    Returns:
        The vectors, `(batch, words, features)`, and the mask, `(batch, words)` bool; 0 at words without a piece.

    Raises:
        ValueError: If the method is unknown, or the shapes do not match.

    Example:

    ```python
    vectors, mask = pool_word_pieces(backbone(pieces), word_ids([[None, 0, 0, 1, None]]), "mean")
    potentials = crf(vectors, mask=mask)
    ```
    """
    check_choice("method", method, ("first", "last", "mean"))
    words = np.asarray(words)
    if words.ndim != 2 or tuple(vectors.shape[:2]) != words.shape:
        raise ValueError(
            f"Expected `words` of shape (batch, pieces) = {tuple(vectors.shape[:2])}, but got shape {words.shape}."
        )
    number = int(words.max(initial=NO_WORD)) + 1
    shares = (words[:, None, :] == np.arange(number)[:, None]).astype("float64")  # (batch, words, pieces)
    mask = shares.any(axis=2)
    if method == "mean":
        shares /= np.maximum(shares.sum(axis=2, keepdims=True), 1)
    else:
        reversed_shares = shares if method == "first" else shares[..., ::-1]
        only = (np.cumsum(reversed_shares, axis=2) == 1) & (reversed_shares > 0)
        shares = only if method == "first" else only[..., ::-1]
    # The vectors of pieces that belong to no word must not reach the others, not even as NaN.
    vectors = zero_padding(ops.convert_to_tensor(vectors), ops.convert_to_tensor(words >= 0))
    return ops.convert_to_tensor(np.ascontiguousarray(shares), vectors.dtype) @ vectors, ops.convert_to_tensor(mask)


def labels_of_pieces(labels: Sequence[Sequence[int]], words: Any, ignore: int = -100) -> np.ndarray:
    """Return the labels of pieces, `(batch, pieces)`: the word's label at its first piece, `ignore` elsewhere.

    Args:
        labels: The labels of the words of each sentence.
        words: As in `pool_word_pieces`.
        ignore: The label of all other pieces, for `CRFLoss(ignore_class=-100)`.

    >>> labels_of_pieces([[3, 5]], [[-1, 0, 0, 1, -1]]).tolist()
    [[-100, 3, -100, 5, -100]]
    """
    found = np.full(np.shape(words), ignore, "int32")
    for row, own, names in zip(found, np.asarray(words), labels, strict=True):
        for word, label in enumerate(names):
            pieces = np.flatnonzero(own == word)
            row[pieces[:1]] = label
    return found
