"""Word vectors in GloVe's text format."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from keras_slstm.errors import DataError
from keras_slstm.text.lines import decode, raw_lines
from keras_slstm.text.vocabulary import PADDING_ID, UNKNOWN_ID

_HEADER = re.compile(rb"\d+ (\d{1,6})")  # of word2vec: number of words and vector size
_SPREAD_OF_UNKNOWN = 0.5  # standard deviation of words without a vector, relative to the other words


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors.

    Args:
        words: Distinct words.
        matrix: `(len(words), dim)` float32, one row per word.

    Raises:
        ValueError: If the matrix does not fit the words, or a word occurs twice.
    """

    words: Sequence[str]
    matrix: np.ndarray
    _rows: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words):
            raise ValueError(
                f"`matrix` must have {len(self.words)} rows, one per word, but its shape is {self.matrix.shape}."
            )
        object.__setattr__(self, "_rows", {word: row for row, word in enumerate(self.words)})
        if len(self._rows) < len(self.words):
            raise ValueError(f"The word {Counter(self.words).most_common(1)[0][0]!r} occurs twice.")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """Size of a vector."""
        return self.matrix.shape[1]

    def find(self, word: str) -> int | None:
        """The row of a word as written, else lower-cased, else capitalised (a cased file has `Oslo`, not `oslo`)."""
        return next((self._rows[form] for form in _forms(word) if form in self._rows), None)

    def embedding_matrix(self, vocabulary: Sequence[str], seed: int = 0) -> np.ndarray:
        """The initial embedding matrix of a model.

        Args:
            vocabulary: All words by id; ids 0 and 1 are padding and the unknown word (`TextVectorizer.vocabulary`).
            seed: Seed for the words without a vector, drawn from a normal distribution with half the standard deviation
                of the others.

        Returns:
            `(len(vocabulary), dim)` float32. Padding is zero; the unknown word is the mean of all vectors.
        """
        spread = _SPREAD_OF_UNKNOWN * self.matrix.std()
        matrix = np.random.default_rng(seed).normal(0, spread, (len(vocabulary), self.dim)).astype(np.float32)
        for i, word in enumerate(vocabulary):
            row = self.find(word)
            if row is not None:
                matrix[i] = self.matrix[row]
        matrix[PADDING_ID] = 0
        matrix[UNKNOWN_ID] = self.matrix.mean(axis=0)
        return matrix

    def coverage(self, counts: Mapping[str, int]) -> Coverage:
        """Count how many words of a text have a vector.

        Args:
            counts: The number of occurrences of each word.
        """
        missing = Counter({word: n for word, n in counts.items() if self.find(word) is None})
        return Coverage(
            tokens=sum(counts.values()),
            known_tokens=sum(counts.values()) - sum(missing.values()),
            types=len(counts),
            known_types=len(counts) - len(missing),
            most_frequent_missing=sorted(missing.items(), key=lambda item: (-item[1], item[0]))[:20],
        )


@dataclass(frozen=True)
class Coverage:
    """The numbers of tokens and of word types that have a vector."""

    tokens: int
    known_tokens: int
    types: int
    known_types: int
    most_frequent_missing: list[tuple[str, int]]

    def __str__(self) -> str:
        missing = ", ".join(f"{word} ({n:,})" for word, n in self.most_frequent_missing) or "none"
        return (
            f"{_percent(self.known_tokens, self.tokens)} of {self.tokens:,} tokens and "
            f"{_percent(self.known_types, self.types)} of {self.types:,} word types have a vector; "
            f"the most frequent without: {missing}"
        )


def load_word_vectors(path: str | os.PathLike[str], words: Iterable[str] | None = None) -> WordVectors:
    """Read word vectors from a text file in GloVe's format.

    Each line holds a word and its values, separated by single spaces (`glove.6B.300d.txt`, `glove.840B.300d.txt`).
    Words may contain spaces, as some in 840B do. Empty lines and a word2vec header (number of words and vector size)
    are skipped. If a word occurs twice, its first vector counts.

    Args:
        path: The file, in UTF-8; compressed if its name ends in `.gz` or `.zst`.
        words: Keep only the vectors of these words (see `WordVectors.find`): all of 840B takes 2.6 GB. None: all.

    Returns:
        The vectors, in the order of the file.

    Raises:
        DataError: If a line has a different number of values than the first, a value is not a finite number, the
            compressed data is damaged, or none of `words` has a vector. In lines that are not kept, only the number of
            values is checked.
        FileNotFoundError: If there is no such file.

    Example:

    ```python
    vectors = load_word_vectors("glove.6B.300d.txt.gz", words=["book", "a", "flight"])
    print(vectors.coverage({"book": 2, "flight": 1}))
    ```
    """
    path = Path(path)
    wanted = None if words is None else {form.encode("utf-8", "replace") for word in words for form in _forms(word)}
    kept: dict[str, np.ndarray] = {}
    dim = 0
    for number, line in raw_lines(path):
        line = line.rstrip(b"\r ")
        if not line:
            continue
        if number == 1 and (header := _HEADER.fullmatch(line)):
            dim = int(header[1])
            continue
        dim = dim or line.count(b" ")
        # The first field rules out most unwanted lines without a full split.
        if wanted is not None and line.split(b" ", 1)[0] not in wanted and line.count(b" ") == dim:
            continue
        name, *values = line.rsplit(b" ", dim)
        if not name or len(values) != dim or dim == 0:
            raise DataError(path, number, f"expected a word and {dim or 'its'} values, found {line[:40]!r}")
        if wanted is None or name in wanted:
            word = decode(path, number, name)
            if word not in kept:
                kept[word] = _vector(path, number, values)
    if not kept and wanted:
        problem = f"no word of the texts has one of these {dim}-dimensional vectors: check the language of the file"
        raise DataError(path, 1, problem)
    if not kept:
        raise DataError(path, 1, "the file contains no word vectors")
    return WordVectors(list(kept), np.stack(list(kept.values())))


def _vector(path: Path, number: int, values: list[bytes]) -> np.ndarray:
    try:
        vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise DataError(path, number, f"not a number: {error}") from error
    if not np.isfinite(vector).all():
        raise DataError(path, number, f"not a finite number: {values[int(np.argmin(np.isfinite(vector)))]!r}")
    return vector


def _forms(word: str) -> tuple[str, ...]:
    return (word, word.lower(), word.capitalize())


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "none"
