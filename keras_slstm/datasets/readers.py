"""Readers of your own files: labelled texts (tables and JSON) and plain lines, which may be gzip-compressed."""

from __future__ import annotations

from typing import NamedTuple

from keras_slstm.datasets.records import (
    Column,
    OnError,
    PathLike,
    Problems,
    check_distinct,
    decoded_lines,
    read_columns,
)
from keras_slstm.errors import DataError

__all__ = ["Example", "OnError", "PathLike", "read_labelled_text", "read_lines"]


class Example(NamedTuple):
    """A labelled text, and the number of the line on which it begins."""

    text: str
    label: str
    line: int = 0


def read_labelled_text(
    path: PathLike,
    text_column: str = "text",
    label_column: str = "label",
    on_error: OnError = "raise",
) -> list[Example]:
    r"""Read labelled texts from a table (`.tsv`, `.csv`, `.txt`) or from JSON (`.jsonl`, `.ndjson`, `.json`).

    Any of them may be compressed, with `.gz` or `.zst` (extra `stream`) appended to its name. Empty lines are skipped.

    The first line of a table names its columns. They are separated by tabs in `.tsv` files and by commas in `.csv`
    files. If the columns are only found with another separator (tabs, commas, semicolons, vertical bars), that
    separator is used, with a warning. In `.txt` files the separator is always guessed in this way. Tab-separated files
    have no quoting: a quotation mark is part of the text. JSON has one object per line or, in a `.json` file, one array
    of objects; labels may be strings or integers. Spaces around labels are removed.

    Lines end at a line feed (after an optional carriage return), or at carriage returns in a file without any line
    feed, and nowhere else.

    Args:
        path: The file, in UTF-8.
        text_column: Name of the column (JSON: key) of the text.
        label_column: Name of the column (JSON: key) of the label.
        on_error: `"raise"` stops at the first malformed line. `"skip"` skips such lines and warns how many were
            skipped.

    Returns:
        The examples, in the order of the file.

    Raises:
        DataError: If the file is empty, lacks a column or has it twice, or a line is malformed: the wrong number of
            columns, an empty text or label, invalid JSON, a text that is not a string, or invalid UTF-8.
        ValueError: If the file name has another suffix.

    Example:

    ```python
    from pathlib import Path

    Path("reviews.tsv").write_text("label\ttext\npos\ta fine film\nneg\ta dull one\n")
    examples = read_labelled_text("reviews.tsv")
    print(examples[0].text, examples[0].label)
    ```
    """
    columns = text_columns(text_column, label_column)
    return [Example(text, label.strip(), line) for line, (text, label) in read_columns(path, columns, on_error)]


def text_columns(text_column: str | None = None, label_column: str | None = None) -> list[Column]:
    """The columns of texts and their labels.

    Raises:
        ValueError: If both are the same.
    """
    text, label = text_column or "text", label_column or "label"
    check_distinct({"text": text, "label": label})
    return [Column("text", [text]), Column("label", [label], (str, int))]


def read_lines(path: PathLike, on_error: OnError = "raise") -> list[str]:
    """Read a file with one text per line, such as texts to classify. Empty lines are skipped.

    Args:
        path: The file, in UTF-8. It is compressed if its name ends in `.gz` or `.zst`.
        on_error: `"raise"` stops at the first line that is not UTF-8. `"skip"` skips such lines and warns how many were
            skipped.

    Returns:
        The texts, in the order of the file.

    Raises:
        DataError: If a line is not UTF-8, or the file contains no texts.
    """
    problems = Problems(path, on_error)
    texts = [text for _, text in decoded_lines(path, problems)]
    problems.warn()
    if not texts:
        raise DataError(path, 1, "the file contains no texts")
    return texts
