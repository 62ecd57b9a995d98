"""Readers of your own files of labelled or scored text pairs, which may be gzip-compressed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from keras_slstm.datasets.records import Column, OnError, PathLike, Problems, check_distinct, read_columns
from keras_slstm.errors import DataError

Pair = tuple[str, str]

# Usual names of the two texts, in order of preference.
PAIR_COLUMNS = (
    ("text_a", "text_b"),
    ("premise", "hypothesis"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("sentence_A", "sentence_B"),
)


class PairExample(NamedTuple):
    """A labelled (or scored) text pair, and the number of the line on which it begins."""

    texts: Pair
    label: str
    line: int = 0


def read_labelled_pairs(
    path: PathLike,
    first_column: str | None = None,
    second_column: str | None = None,
    label_column: str | None = None,
    on_error: OnError = "raise",
) -> list[PairExample]:
    r"""Read labelled text pairs from a table (`.tsv`, `.csv`, `.txt`) or JSON (`.jsonl`, `.ndjson`, `.json`).

    The formats are those of `read_labelled_text`, with a column for each of the two texts.

    Args:
        path: The file, in UTF-8.
        first_column: Name of the column (JSONL: key) of the first text. By default `text_a`, `premise`, `sentence1`,
            `question1` or `sentence_A`.
        second_column: Likewise for the second text: `text_b`, `hypothesis`, `sentence2`, `question2` or `sentence_B`,
            in the same order. If two of these pairs exist, name both columns.
        label_column: Likewise for the label: `label` or `score`. In JSON, a label may be a string or a number.
        on_error: `"raise"` stops at the first malformed line. `"skip"` skips such lines and warns how many were
            skipped.

    Returns:
        The examples, in the order of the file.

    Raises:
        DataError: See `read_labelled_text`.
        ValueError: If the file name has another suffix.

    Example:

    ```python
    from pathlib import Path

    Path("pairs.tsv").write_text("label\ttext_a\ttext_b\nyes\ta dog runs\tan animal moves\n")
    (example,) = read_labelled_pairs("pairs.tsv")
    print(example.texts, example.label)
    ```
    """
    rows = read_columns(path, pair_columns(first_column, second_column, label_column), on_error)
    return [PairExample((first, second), label.strip(), line) for line, (first, second, label) in rows]


def pair_columns(
    first_column: str | None = None, second_column: str | None = None, label_column: str | None = None
) -> list[Column]:
    """The columns of pairs and their labels.

    Without given names, both texts are those of one row of `PAIR_COLUMNS`, the only one that exists as a whole. A name
    that is given for one column is not used for another.

    Raises:
        ValueError: If two given names are the same.
    """
    check_distinct({"first text": first_column, "second text": second_column, "label": label_column})
    labels = [name for name in ("label", "score") if name not in (first_column, second_column)]
    firsts, seconds = zip(*PAIR_COLUMNS)
    return [
        _text_column("first text", first_column, firsts, second_column, seconds, label_column),
        _text_column("second text", second_column, seconds, first_column, firsts, label_column),
        Column("label", [label_column] if label_column else labels, (str, int, float)),
    ]


def _text_column(
    role: str, given: str | None, usual: Sequence[str], other: str | None, partners: Sequence[str], label: str | None
) -> Column:
    """One of the two texts: the given name, or a usual one with its partner or with any `other` given name."""
    if given:
        return Column(role, [given])
    pairs = zip(usual, usual if other else partners)
    names, partners = zip(*(pair for pair in pairs if not {*pair} & {other, label}))
    return Column(role, names, partners=partners)


def read_scored_pairs(
    path: PathLike,
    first_column: str | None = None,
    second_column: str | None = None,
    label_column: str | None = None,
    on_error: OnError = "raise",
) -> list[PairExample]:
    """Read text pairs whose labels are numbers; otherwise like `read_labelled_pairs`.

    Raises:
        DataError: If a label is not a finite number. See also `read_labelled_pairs`.
    """
    problems = Problems(path, on_error)
    examples = []
    for example in read_labelled_pairs(path, first_column, second_column, label_column, on_error):
        if _is_number(example.label):
            examples.append(example)
        else:
            problems.report(example.line, f'the score must be a number, found "{example.label[:40]}"')
    problems.warn()
    if not examples:
        raise DataError(path, 1, "the file contains no examples")
    return examples


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
