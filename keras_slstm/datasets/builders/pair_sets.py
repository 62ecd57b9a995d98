"""TFDS builders of sentence pairs in columns: MRPC, QQP, SICK and STS-B."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from keras_slstm.datasets.builders.original_files import (
    Examples,
    Files,
    OriginalFilesBuilder,
    Originals,
    check_count,
    published_lines,
)
from keras_slstm.errors import DataError

ENTAILMENT = ("entailment", "neutral", "contradiction")


class Row(NamedTuple):
    """A pair and its line in the file."""

    line: int
    first: str
    second: str
    label: str | float


class PairFiles(OriginalFilesBuilder, skip_registration=True):
    """Base class of the sets of pairs: two texts, and a `label` or, if there are no labels, a `score`."""

    TEXTS = ("sentence1", "sentence2")
    PAIRS: Mapping[str, int] = {}  # of each split; a split that is missing here can have any number

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
                if not any(texts.values()):  # in a few published pairs one text is only white space
                    raise DataError(path, line, "both texts are empty")
                examples[str(line)] = {**texts, self._target: label}
            expected = self._pairs_of(split)
            if expected is not None:
                check_count(path, line, len(examples), expected, "pairs")
            elif not examples:
                raise DataError(path, line, "the file contains no pairs")
            splits[split] = examples
        return splits


class Mrpc(PairFiles):
    """The Microsoft Research Paraphrase Corpus (MRPC): 4,076 training and 1,725 test pairs of news sentences.

    After a header, the files have columns without quoting: label, two numbers and the two sentences. There is no
    development part.
    """

    LABELS = ("not_equivalent", "equivalent")
    PAIRS = {"train": 4076, "test": 1725}

    def _rows(self, path: Path) -> Iterator[Row]:
        names = dict(zip("01", self.LABELS))
        for line, (label, _, _, first, second) in columns(path, 5, "label, two numbers and two sentences", header=1):
            yield Row(line, first, second, label_of(path, line, label, names))


class Stsb(PairFiles):
    """The STS Benchmark (STS-B): 5,749 / 1,500 / 1,379 pairs of sentences, scored from 0 to 5 by their similarity.

    The columns are genre, file, year, number, score and the two sentences, separated by tabs in spite of the name
    `.csv`; some lines end with notes on the source.
    """

    PAIRS = {"train": 5749, "validation": 1500, "test": 1379}
    SCORES = (0, 5)

    def _rows(self, path: Path) -> Iterator[Row]:
        what = "genre, file, year, number, score and two sentences"
        for line, (_, _, _, _, score, first, second, *_) in columns(path, 7, what, more=True):
            yield Row(line, first, second, score_of(path, line, score, *self.SCORES))


class Sick(PairFiles):
    """Sentences Involving Compositional Knowledge (SICK), as in SemEval 2014: 4,500 / 500 / 4,927 pairs.

    Configurations: `entailment` (SICK-E: entailment, neutral or contradiction) and `relatedness` (SICK-R: a score from
    1 to 5). The trial data is the split `validation`. After a header, the columns are number, two sentences, score and
    label.
    """

    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="entailment", description="Entailment, neutral or contradiction."),
        tfds.core.BuilderConfig(name="relatedness", description="Relatedness of the sentences, from 1 to 5."),
    ]
    PAIRS = {"train": 4500, "validation": 500, "test": 4927}
    SCORES = (1, 5)

    @property
    def _label_names(self) -> Sequence[str]:
        return ENTAILMENT if self.builder_config.name == "entailment" else ()

    def _rows(self, path: Path) -> Iterator[Row]:
        names = {name.upper(): name for name in ENTAILMENT}
        what = "number, two sentences, score and label"
        for line, (_, first, second, score, label) in columns(path, 5, what, header=1):
            checked = label_of(path, line, label, names), score_of(path, line, score, *self.SCORES)
            yield Row(line, first, second, checked[0] if self._label_names else checked[1])


class Qqp(PairFiles):
    """Quora Question Pairs (QQP): pairs of questions, labelled by whether they ask the same thing.

    | configuration | train | validation | test |
    | --- | --- | --- | --- |
    | `full` | 384,348 | 10,000 | 10,000 |
    | `heldout` | | 10,000 | 10,000 |

    The files are the split of Wang, Hamza and Florian (2017), with columns without quoting: label, question 1, question
    2 and number of the pair. `heldout` is for testing a model that was trained on other pairs. (`glue/qqp` is another
    split, whose test part has no labels.)
    """

    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="full", description="All pairs."),
        tfds.core.BuilderConfig(name="heldout", description="Without the training part."),
    ]
    TEXTS = ("question1", "question2")
    LABELS = ("not_duplicate", "duplicate")
    PAIRS = {"train": 384_348, "validation": 10_000, "test": 10_000}

    def _originals(self) -> tuple[Originals, ...]:
        (every,) = self.ORIGINALS
        left_out = "train" if self.builder_config.name == "heldout" else None
        return (replace(every, names={role: name for role, name in every.names.items() if role != left_out}),)

    def _rows(self, path: Path) -> Iterator[Row]:
        names = dict(zip("01", self.LABELS))
        for line, (label, first, second, _) in columns(path, 4, "label, two questions and the number of the pair"):
            yield Row(line, first, second, label_of(path, line, label, names))


def columns(
    path: Path, expected: int, what: str, header: int = 0, more: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Read the tab-separated columns of each line, without quoting, and its number.

    Args:
        path: The file.
        expected: Number of columns.
        what: The columns, for the message.
        header: Number of lines to skip at the beginning.
        more: Whether further columns may follow.

    Raises:
        DataError: If a line has a different number of columns.
    """
    for number, line in enumerate(published_lines(path), start=1):
        if number <= header:
            continue
        fields = line.split("\t")
        if len(fields) < expected or (len(fields) > expected and not more):
            raise DataError(path, number, f"expected {what}, separated by tabs, found {line[:60]!r}")
        yield number, fields


def label_of(path: Path, line: int, found: str, names: Mapping[str, str]) -> str:
    """The label that a field of a file denotes.

    Raises:
        DataError: If it denotes none.
    """
    if found not in names:
        raise DataError(path, line, f"expected the label {' or '.join(names)}, found {found[:40]!r}")
    return names[found]


def score_of(path: Path, line: int, found: str, lowest: float, highest: float) -> float:
    """The score in a field of a file.

    Raises:
        DataError: If it is not a number, or out of range.
    """
    try:
        score = float(found)
    except ValueError:
        score = float("nan")
    if not lowest <= score <= highest:
        raise DataError(path, line, f"expected a score from {lowest:g} to {highest:g}, found {found[:40]!r}")
    return score
