"""Reads columns of large tab-separated files, many lines at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from operator import itemgetter, methodcaller
from pathlib import Path

from keras_slstm.datasets.records import (
    Column,
    Header,
    OnError,
    PathLike,
    Problems,
    file_kind,
    filled_records,
    find_columns,
    find_separator,
    select_columns,
    tsv_rows,
)
from keras_slstm.text.lines import raw_lines

_COUNT_TABS = methodcaller("count", b"\t")
_STRIP = methodcaller("strip")


def is_tab_separated(path: PathLike, columns: Sequence[Column]) -> bool:
    """Whether a file has the extension of tab-separated files and is separated by tabs."""
    return file_kind(path) == ".tsv" and find_separator(Path(path), columns) == "\t"


def tab_separated_blocks(
    path: PathLike, columns: Sequence[Column], on_error: OnError, size: int, part: int = 0, parts: int = 1
) -> Iterator[tuple[int, list[int], list[list[str]]]]:
    """Yield the rows of `iterate_columns` block by block and column by column, several times faster.

    If all lines of a block have as many columns as the header, a few string operations split the whole block.
    Otherwise, the block is read line by line, to find the malformed line.

    Args:
        path: A tab-separated file.
        columns: The columns to read.
        on_error: `"raise"` or `"skip"`, for malformed lines.
        size: Lines per block.
        part, parts: Yield only the blocks whose number modulo `parts` is `part`.

    Yields:
        The number of the block, its line numbers, and a list of strings for each column.
    """
    path = Path(path)
    problems = Problems(path, on_error)
    lines = raw_lines(path)
    header = find_columns(path, columns, tsv_rows(path, problems, lines))
    for number in itertools.count():
        block = list(itertools.islice(lines, size))
        if not block:
            break
        if number % parts != part:
            continue
        found = [line for line, _ in block]
        values = _cut([line for _, line in block], header)
        if values is None:
            records = select_columns(tsv_rows(path, problems, block), header, problems)
            rows = list(filled_records(records, columns, problems))
            found = [line for line, _ in rows]
            values = [list(map(itemgetter(index), (row for _, row in rows))) for index in range(len(columns))]
        if found:
            yield number, found, values
    problems.warn()


def _cut(lines: list[bytes], header: Header) -> list[list[str]] | None:
    """Return the columns, or None if a line is not UTF-8, has an empty value or the wrong number of columns."""
    if set(map(_COUNT_TABS, lines)) != {header.width - 1}:
        return None
    try:
        fields = b"\t".join(lines).decode("utf-8").split("\t")
    except UnicodeDecodeError:
        return None
    values = [fields[index :: header.width] for index in header.indices]
    return values if all(all(map(_STRIP, column)) for column in values) else None
