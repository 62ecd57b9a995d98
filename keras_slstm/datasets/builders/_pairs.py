"""What the builders of data sets of pairs of sentences have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from keras_slstm.datasets.builders._manual import Examples, Files, OriginalFilesBuilder, check_count, published_lines
from keras_slstm.errors import DataError

ENTAILMENT = ("entailment", "neutral", "contradiction")


class Row(NamedTuple):
    """A pair, and the line of the file that it stands on."""

    line: int
    first: str
    second: str
    label: str | float


class PairFiles(OriginalFilesBuilder, skip_registration=True):
    """Base of the sets of pairs: two texts, and a `label` or, where there are no labels, a `score`."""

    TEXTS = ("sentence1", "sentence2")
    PAIRS: Mapping[str, int] = {}  # of each split; of one that is not named here, any number

    @property
    def _label_names(self) -> Sequence[str]:
        return self.LABELS

    @property
    def _target(self) -> str:
        return "label" if self._label_names else "score"

    def _supervised_keys(self) -> tuple[Any, Any]:
        return self.TEXTS, self._target

    def _features(self) -> dict[str, Any]:
        names = list(self._label_names)
        kind = tfds.features.ClassLabel(names=names) if names else tfds.features.Scalar(np.float32)
        return {**{name: tfds.features.Text() for name in self.TEXTS}, self._target: kind}

    @abstractmethod
    def _rows(self, path: Path) -> Iterator[Row]:
        """Read the pairs of a file.

        Raises:
            DataError: If a line is malformed.
        """

    def _pairs_of(self, split: str) -> int | None:
        return self.PAIRS.get(split)

    def _read(self, files: Files) -> dict[str, Examples]:
        splits = {}
        for split, path in files.items():
            examples = {}
            line = 1
            for line, first, second, label in self._rows(path):
                texts = dict(zip(self.TEXTS, (first.strip(), second.strip()), strict=True))
                # A text that is only white space is one without words, as people have written a few.
                if not any(texts.values()):
                    raise DataError(path, line, "neither of the two texts has any text")
                examples[str(line)] = {**texts, self._target: label}
            expected = self._pairs_of(split)
            if expected is not None:
                check_count(path, line, len(examples), expected, "pairs")
            elif not examples:
                raise DataError(path, line, "the file holds no pair")
            splits[split] = examples
        return splits


def columns(
    path: Path, expected: int, what: str, header: int = 0, more: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Read the tab-separated columns of each line, with its number. There is no quoting.

    Args:
        path: The file.
        expected: Number of columns.
        what: What they are, for the message.
        header: Number of lines that are left out at the beginning.
        more: Whether further columns may follow.

    Raises:
        DataError: If a line has another number of columns.
    """
    for number, line in enumerate(published_lines(path), start=1):
        if number <= header:
            continue
        fields = line.split("\t")
        if len(fields) < expected or (len(fields) > expected and not more):
            raise DataError(path, number, f"{what}, separated by tabs, expected, found {line[:60]!r}")
        yield number, fields


def label_of(path: Path, line: int, found: str, names: Mapping[str, str]) -> str:
    """The label that a file's word for it means.

    Raises:
        DataError: If it means none.
    """
    if found not in names:
        raise DataError(path, line, f"the label {' or '.join(names)} expected, found {found[:40]!r}")
    return names[found]


def score_of(path: Path, line: int, found: str, lowest: float, highest: float) -> float:
    """The score that a file's number means.

    Raises:
        DataError: If it is no number, or out of range.
    """
    try:
        score = float(found)
    except ValueError:
        score = float("nan")
    if not lowest <= score <= highest:
        raise DataError(path, line, f"a score from {lowest:g} to {highest:g} expected, found {found[:40]!r}")
    return score
