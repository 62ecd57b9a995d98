"""Defaults of all text models for their word vectors.

The page "Why these defaults" says which of these values were measured, and how.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import keras

from keras_slstm.text.word_vectors import WordVectors

DROPOUT = 0.3
WORD_DROPOUT = 0.05
# Matches the scale of GloVe's values; Keras' default draws from [-0.05, 0.05].
SPREAD = 0.5
MIN_COVERAGE_TO_FREEZE = 0.95


def words_initializer(given: Any) -> keras.initializers.Initializer:
    """The given initialiser of word vectors, or a normal distribution about as wide as GloVe's values."""
    return keras.initializers.RandomNormal(stddev=SPREAD) if given is None else keras.initializers.get(given)


def can_be_frozen(vectors: WordVectors | None, counts: Counter[str]) -> bool:
    """Whether enough tokens have a vector to keep the vectors frozen.

    A word without a vector has a random one, which carries no meaning until it is trained.
    """
    return vectors is not None and _coverage(vectors, counts) >= MIN_COVERAGE_TO_FREEZE


def warn_of_frozen(vectors: WordVectors | None, counts: Counter[str]) -> None:
    """Warn if word vectors are frozen although many words have none."""
    if not can_be_frozen(vectors, counts):
        share = 0.0 if vectors is None else _coverage(vectors, counts)
        warnings.warn(
            f"trainable_embeddings=False freezes the word vectors, but only {share:.1%} of the tokens have "
            f"one: the others keep meaningless random vectors. Below {MIN_COVERAGE_TO_FREEZE:.0%}, train them "
            "(trainable_embeddings=True), or use a file that covers more words.",
            stacklevel=4,
        )


def _coverage(vectors: WordVectors, counts: Counter[str]) -> float:
    coverage = vectors.coverage(counts)
    return coverage.known_tokens / max(coverage.tokens, 1)
