"""One way to every corpus of labelled or scored pairs of texts: those of TFDS, and a person's own files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keras_slstm.datasets import prepared
from keras_slstm.datasets.corpus import check_shares, complete_parts, is_file
from keras_slstm.datasets.pair_readers import Pair, PairExample, read_labelled_pairs, read_scored_pairs
from keras_slstm.datasets.readers import OnError, PathLike
from keras_slstm.errors import DataError

ScoreRange = tuple[int, int]
ColumnNames = tuple[str | None, str | None, str | None]  # of first text, second text and label


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts and the label (or, as a number, the score) of each, in the same order."""

    texts: list[Pair]
    labels: list[Any]

    def __post_init__(self):
        if len(self.texts) != len(self.labels):
            raise ValueError(f"As many labels as pairs expected: {len(self.texts)} pairs, {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, indices: Sequence[int]) -> Pairs:
        """Some of the pairs, in the order of `indices`."""
        return Pairs([self.texts[i] for i in indices], [self.labels[i] for i in indices])


@dataclass(frozen=True)
class PairCorpus:
    """A corpus of pairs of texts: three parts, and what each pair is given.

    That is one of `label_names`, or, where these are empty, a score within `score_range`.
    """

    name: str
    train: Pairs
    validation: Pairs
    test: Pairs
    label_names: list[str]
    score_range: ScoreRange | None = None


def load_pair_corpus(
    name: PathLike,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    seed: int = 0,
    validation: float = 0.1,
    test: float = 0.1,
    validation_path: PathLike | None = None,
    test_path: PathLike | None = None,
    first_column: str | None = None,
    second_column: str | None = None,
    label_column: str | None = None,
    scores: bool = False,
    score_range: ScoreRange | None = None,
    on_error: OnError = "raise",
) -> PairCorpus:
    r"""Load a corpus of labelled or scored pairs of texts, by name or from a file.

    A part that the corpus does not come with is drawn at random from its training part, as in `load_corpus`.

    | name | pairs | labels | parts |
    | --- | --- | --- | --- |
    | `snli/full`, `snli/subset` | premise and hypothesis | 3 | all three |
    | `multi_nli/matched`, `multi_nli/mismatched` | premise and hypothesis | 3 | test |
    | `sick/entailment` | sentences | 3 | all three |
    | `sick/relatedness` | sentences | scores from 1 to 5 | all three |
    | `stsb` | sentences | scores from 0 to 5 | all three |
    | `mrpc` | sentences | 2 | test |
    | `qqp` | questions | 2 | all three |
    | `glue/rte`, `paws_wiki` ... | sets of TFDS with two texts and a label or a number | | |

    Args:
        name: A name of the table, or the path of a `.tsv`, `.csv` or `.jsonl` file (see `read_labelled_pairs`).
        data_dir: Where TFDS keeps prepared data: see `load_corpus`.
        manual_dir: Folder of files that you got yourself: see `load_corpus`.
        seed: Seed of the random parts.
        validation: Share of the pairs that become the validation part, where there is none.
        test: Share of the pairs that become the test part, where there is none.
        validation_path: File of the validation part, if `name` is a file.
        test_path: File of the test part, if `name` is a file.
        first_column: Column, JSON key or TFDS feature of the first text, if it has none of the usual names.
        second_column: The same for the second text.
        label_column: The same for the label or score.
        scores: Whether the labels of a file are scores. Of a set of TFDS, its features tell.
        score_range: Lowest and highest score. By default those of the training part, rounded to integers outwards.
        on_error: What a malformed line of a file does: `"raise"`, or `"skip"` with a warning.

    Returns:
        A `PairCorpus`.

    Raises:
        DataError: If a file is malformed, a label does not occur in the training file, or a score is out of range;
            the message names file and line.
        FileNotFoundError: If a file is missing; for the sets above the message says what to put where.
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, the data set lacks two texts or a label, or there is a `score_range` where
            there are labels.

    Example:

    ```python
    from pathlib import Path

    rows = [f"{'yes' if i % 2 else 'no'}\tdog {i}\tcat {i}" for i in range(20)]
    Path("pairs.tsv").write_text("\n".join(["label\ttext_a\ttext_b", *rows]) + "\n")
    corpus = load_pair_corpus("pairs.tsv")
    print(len(corpus.train), corpus.label_names, corpus.train.texts[0])
    ```
    """
    check_shares(validation, test)
    columns = (first_column, second_column, label_column)
    if is_file(name):
        paths = {"train": name, "validation": validation_path, "test": test_path}
        given = {part: path for part, path in paths.items() if path is not None}
        if scores:
            parts, limits = _read_scored_files(given, columns, score_range, on_error)
            labels: list[str] = []
        else:
            parts, labels = _read_labelled_files(given, columns, on_error)
            limits = None
    elif validation_path or test_path:
        raise ValueError(f"`validation_path` and `test_path` go with a file. Received: name={os.fspath(name)!r}")
    else:
        rows, labels = prepared.read_pairs(os.fspath(name), data_dir, manual_dir, *columns)
        parts = {part: Pairs([texts for texts, _ in found], [y for _, y in found]) for part, found in rows.items()}
        limits = None if labels else _check_parts(os.fspath(name), parts, score_range)
    if labels and score_range is not None:
        raise ValueError(f"`score_range` is about scores, but {os.fspath(name)} has labels: {', '.join(labels[:5])}.")
    complete = complete_parts(parts, validation, test, seed)
    return PairCorpus(os.fspath(name), **complete, label_names=labels, score_range=limits)


def _read_labelled_files(
    paths: dict[str, PathLike], columns: ColumnNames, on_error: OnError
) -> tuple[dict[str, Pairs], list[str]]:
    examples = {part: read_labelled_pairs(path, *columns, on_error) for part, path in paths.items()}
    labels = sorted({example.label for example in examples["train"]})
    for part, found in examples.items():
        for example in found:
            if example.label not in labels:
                problem = f'the label "{example.label}" does not occur in the training file; its labels: {labels}'
                raise DataError(paths[part], example.line, problem)
    return {part: _pairs(found) for part, found in examples.items()}, labels


def _read_scored_files(
    paths: dict[str, PathLike], columns: ColumnNames, limits: ScoreRange | None, on_error: OnError
) -> tuple[dict[str, Pairs], ScoreRange]:
    examples = {part: read_scored_pairs(path, *columns, on_error) for part, path in paths.items()}
    lowest, highest = limits or _limits([float(example.label) for example in examples["train"]])
    for part, found in examples.items():
        for example in found:
            if not lowest <= float(example.label) <= highest:
                problem = f"a score from {lowest} to {highest} expected, found {example.label}"
                raise DataError(paths[part], example.line, problem)
    return {part: _pairs(found, float) for part, found in examples.items()}, (lowest, highest)


def _check_parts(name: str, parts: dict[str, Pairs], limits: ScoreRange | None) -> ScoreRange:
    lowest, highest = limits or _limits(parts["train"].labels)
    for part, pairs in parts.items():
        outside = [score for score in pairs.labels if not lowest <= score <= highest]
        if outside:
            raise ValueError(
                f'The part "{part}" of {name} has the score {outside[0]:g}, not from {lowest} to {highest}.'
            )
    return lowest, highest


def _pairs(examples: list[PairExample], kind: type = str) -> Pairs:
    return Pairs([example.texts for example in examples], [kind(example.label) for example in examples])


def _limits(scores: Sequence[float]) -> ScoreRange:
    lowest, highest = math.floor(min(scores)), math.ceil(max(scores))
    return lowest, max(highest, lowest + 1)
