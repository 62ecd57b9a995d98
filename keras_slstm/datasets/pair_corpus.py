"""Corpora of labelled or scored text pairs: TFDS data sets and your own files."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_slstm.datasets import prepared
from keras_slstm.datasets.corpus import is_file
from keras_slstm.datasets.loading import Examples, ReadRow, Row, Sources, Splits, check_shares, read_sources
from keras_slstm.datasets.pair_readers import PAIR_COLUMNS, Pair, read_labelled_pairs, read_scored_pairs
from keras_slstm.datasets.records import OnError, PathLike

ScoreRange = tuple[int, int]


@dataclass(frozen=True)
class Pairs(Examples):
    """Pairs of texts and their labels (or scores, as numbers), in the same order."""

    texts: list[Pair]
    labels: list[Any]


@dataclass(frozen=True)
class PairCorpus(Splits[Pairs]):
    """A corpus of text pairs: three parts, and the possible targets.

    The target of a pair is one of `label_names` or, if there are none, a score within `score_range`.
    """

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
    labels: Sequence[str] | None = None,
) -> PairCorpus:
    r"""Load a corpus of labelled or scored text pairs, by name or from a file.

    If the corpus lacks a validation or test part, the part is drawn at random from its training part, as in
    `load_corpus`.

    | name | pairs | labels | parts |
    | --- | --- | --- | --- |
    | `snli/full`, `snli/subset` | premise and hypothesis | 3 | all three |
    | `multi_nli/matched`, `multi_nli/mismatched` | premise and hypothesis | 3 | test |
    | `sick/entailment` | sentences | 3 | all three |
    | `sick/relatedness` | sentences | scores from 1 to 5 | all three |
    | `stsb` | sentences | scores from 0 to 5 | all three |
    | `mrpc` | sentences | 2 | test |
    | `qqp` | questions | 2 | all three |
    | `glue/rte`, `paws_wiki` ... | TFDS data sets with two texts and a label or a number | | |

    Args:
        name: A name from the table, or the path of a file (see `read_labelled_pairs`).
        first_column: Column, JSON key or TFDS feature of the first text, if it has none of the usual names.
        second_column: Likewise for the second text.
        label_column: Likewise for the label or score.
        scores: Whether the labels of a file are scores. For a TFDS data set, this follows from its features.
        score_range: Lowest and highest score. Default: those of the training part, rounded outwards to integers.
        data_dir, manual_dir, seed, validation, test, validation_path, test_path, on_error, labels: See `load_corpus`.

    Returns:
        A `PairCorpus`.

    Raises:
        DataError: If a file is malformed, a score is out of range, or a label is not one of `labels` or, by default,
            does not occur in the training file. The message names the file and the line.
        FileNotFoundError: If a file is missing. For the data sets above, the message says where to put which files.
        ImportError: If TFDS is needed and not installed.
        ValueError: If the name is unknown, the data set lacks two texts or a label, `score_range` is given for a corpus
            with labels, or `labels` for one with scores.

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
    held_out = {"validation_path": validation_path, "test_path": test_path}
    columns = (first_column, second_column, label_column)
    sources = read_pairs(name, data_dir, manual_dir, columns, scores, on_error, held_out)
    names, limits = [], None
    if isinstance(sources.parts["train"].rows[0].y, float):
        if labels is not None:
            raise ValueError(f"`labels` is only for labels, but {os.fspath(name)} has scores.")
        limits = _check_scores(sources, score_range)
    else:
        names = sources.labels() if labels is None else list(labels)
        if score_range is not None:
            raise ValueError(f"`score_range` is only for scores, but {os.fspath(name)} has labels: {', '.join(names)}.")
        sources.check_labels(names, given=labels is not None)
    parts = sources.complete(Pairs, validation, test, seed)
    return PairCorpus(os.fspath(name), **parts, label_names=names, score_range=limits)


def read_pairs(
    name: PathLike,
    data_dir: PathLike | None = None,
    manual_dir: PathLike | None = None,
    columns: tuple[str | None, str | None, str | None] = (None, None, None),
    scores: bool = False,
    on_error: OnError = "raise",
    held_out: Mapping[str, PathLike | None] | None = None,
) -> Sources:
    """Read the existing parts of a corpus of pairs; see `load_pair_corpus`. Scores are floats."""

    def read_file(path: PathLike) -> list[Row]:
        read = read_scored_pairs if scores else read_labelled_pairs
        target = float if scores else str
        return [Row(texts, target(label), [line]) for texts, label, line in read(path, *columns, on_error)]

    def convert(name: str, builder: Any) -> tuple[ReadRow, list[str]]:
        return pair_features(name, builder, *columns)

    return read_sources(name, is_file(name), held_out or {}, read_file, {}, convert, data_dir, manual_dir)


def pair_features(
    name: str,
    builder: Any,
    first_column: str | None = None,
    second_column: str | None = None,
    label_column: str | None = None,
) -> tuple[ReadRow, list[str]]:
    """Return a function that converts the records of a TFDS data set of pairs to rows, and the label names."""
    features = builder.info.features
    complete = [row for row in PAIR_COLUMNS if all(column in features for column in row)]
    usual_names = zip(*complete or PAIR_COLUMNS)  # both texts from the same row
    first, second = (
        prepared.feature(name, features, role, "Text", column, usual)
        for role, column, usual in zip(("first", "second"), (first_column, second_column), usual_names)
    )
    if first == second:
        raise ValueError(f'"{name}" does not contain pairs: its only text is "{first}"')
    target, names = _target(name, features, label_column)

    def row_of(record: dict[str, Any]) -> Row | None:
        texts = record[first].decode("utf-8"), record[second].decode("utf-8")
        if not names:
            return Row(texts, float(str(np.float32(record[target]))))  # the decimal number as written
        return Row(texts, names[record[target]]) if record[target] >= 0 else None  # -1: no label

    return row_of, names


def _target(name: str, features: Any, wanted: str | None) -> tuple[str, list[str]]:
    """Return the name of the feature with the label or score, and the names of the labels (none for a score)."""
    kinds = {key: type(feature).__name__ for key, feature in features.items()}
    numbers = [key for key, kind in kinds.items() if kind in ("Scalar", "Tensor") and not features[key].shape]
    scores = [key for key in numbers if np.issubdtype(features[key].np_dtype, np.floating)]
    if wanted in scores:
        return str(wanted), []
    if not wanted and len(scores) == 1 and "ClassLabel" not in kinds.values():
        return scores[0], []
    label = prepared.feature(name, features, "label", "ClassLabel", wanted, ("label",))
    return label, list(features[label].names)


def _check_scores(sources: Sources, limits: ScoreRange | None) -> ScoreRange:
    """Return the range of the scores. Raise ValueError at the first score outside of it."""
    if limits is None:
        scores = [row.y for row in sources.parts["train"].rows]
        lowest = math.floor(min(scores))
        limits = lowest, max(math.ceil(max(scores)), lowest + 1)
    for source in sources.parts.values():
        for row in source.rows:
            if not limits[0] <= row.y <= limits[1]:
                raise source.error(row, f"expected a score from {limits[0]} to {limits[1]}, found {row.y:g}")
    return limits
