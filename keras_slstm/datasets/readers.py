"""Readers of a person's own files: labelled text (TSV, CSV, JSONL) and plain lines, also gzip-compressed.

Lines end at a line feed (after an optional carriage return) and nowhere else: texts may contain the other
characters at which `str.splitlines` would cut.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import warnings
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from keras_slstm.errors import DataError

PathLike = str | os.PathLike[str]
OnError = Literal["raise", "skip"]
Row = tuple[int, list[str]]  # (line number, fields)
Record = tuple[int, list[str], list[str]]  # (line number, names of the columns, what they hold)

_KINDS: dict[type, str] = {str: "a string", int: "an integer", float: "a number"}


class Column(NamedTuple):
    """What is read of each line of a file of examples.

    Args:
        role: What it holds, for messages.
        names: The names that the column (JSONL: the key) may have; the first that is there is read.
        types: What JSON may hold there.
    """

    role: str
    names: Sequence[str]
    types: tuple[type, ...] = (str,)

    def among(self, names: Collection[str]) -> str | None:
        """The first of its names that is there."""
        return next((name for name in self.names if name in names), None)

    def __str__(self) -> str:
        return " or ".join(f'"{name}"' for name in self.names)


class Example(NamedTuple):
    """A labelled text, and the line of the file on which it begins."""

    text: str
    label: str
    line: int = 0


def read_labelled_text(
    path: PathLike,
    text_column: str = "text",
    label_column: str = "label",
    on_error: OnError = "raise",
) -> list[Example]:
    r"""Read labelled texts from a `.tsv`, `.csv` or `.jsonl` file, or one of these with `.gz` behind.

    A TSV or CSV file begins with a line that names its columns. A TSV file has no quoting: a quotation mark
    is part of the text. A JSONL file has one object a line; its labels may be strings or integers.

    Args:
        path: The file, in UTF-8.
        text_column: Name of the column (JSONL: key) that holds the text.
        label_column: Name of the column (JSONL: key) that holds the label.
        on_error: `"raise"` stops at the first malformed line; `"skip"` leaves such lines out and warns how
            many.

    Returns:
        The examples, in the order of the file.

    Raises:
        DataError: If the file is empty, lacks a column or has it twice, or has a malformed line: a wrong number
            of columns, an empty text or label, invalid JSON, a text that is no string, or bytes that are not UTF-8.
        ValueError: If the file name has another suffix.

    Example:

    ```python
    from pathlib import Path

    Path("reviews.tsv").write_text("label\ttext\npos\ta fine film\nneg\ta dull one\n")
    examples = read_labelled_text("reviews.tsv")
    print(examples[0].text, examples[0].label)
    ```
    """
    columns = Column("text", [text_column]), Column("label", [label_column], (str, int))
    return [Example(text, label.strip(), line) for line, (text, label) in read_columns(path, columns, on_error)]


def read_columns(path: PathLike, columns: Sequence[Column], on_error: OnError) -> list[tuple[int, list[str]]]:
    """Read some columns of a file of examples, all of which must have text; see `read_labelled_text`.

    Returns:
        For each example the line on which it begins, and a string for each of the columns.
    """
    path = Path(path)
    problems = Problems(path, on_error)
    kind = file_kind(path)
    if kind == ".jsonl":
        records = _json_records(_lines(path, problems), columns, problems)
    else:
        rows = _csv_rows(path, problems) if kind == ".csv" else _tsv_rows(_lines(path, problems))
        records = _table_records(path, rows, columns, problems)

    examples = []
    for line, names, values in records:
        for column, name, value in zip(columns, names, values):
            if not value.strip():
                problems.report(line, f'the {column.role} (column "{name}") is empty')
                break
        else:
            examples.append((line, values))
    problems.warn(stacklevel=4)  # where the function was called that calls this one
    if not examples:
        raise DataError(path, 1, "the file holds no example")
    return examples


def read_lines(path: PathLike, on_error: OnError = "raise") -> list[str]:
    """Read a file with one text a line, e.g. texts to classify.

    Args:
        path: The file, in UTF-8; gzip-compressed if its name ends in `.gz`.
        on_error: `"raise"` stops at the first empty or undecodable line; `"skip"` leaves such lines out and
            warns how many.

    Returns:
        The texts, in the order of the file.

    Raises:
        DataError: If the file is empty, or a line is empty or not UTF-8.
    """
    problems = Problems(Path(path), on_error)
    texts = []
    for number, line in _lines(Path(path), problems):
        if line.strip():
            texts.append(line)
        else:
            problems.report(number, "the line is empty")
    problems.warn()
    if not texts:
        raise DataError(path, 1, "the file holds no text")
    return texts


def file_kind(path: PathLike) -> str:
    """Return `".tsv"`, `".csv"` or `".jsonl"`; a `.gz` behind it is looked through."""
    kind = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    if kind not in (".tsv", ".csv", ".jsonl"):
        raise ValueError(
            f"Labelled text is read from files named .tsv, .csv or .jsonl (also with .gz behind). Received: {path}"
        )
    return kind


def read_bytes(path: PathLike) -> bytes:
    """Return the content of a file, decompressed if its name ends in `.gz`.

    Raises:
        DataError: If the file is empty, or its compression is damaged.
    """
    content = Path(path).read_bytes()
    if Path(path).suffix.lower() == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(path, 1, f"not a valid gzip file ({error})") from error
    if not content:
        raise DataError(path, 1, "the file is empty")
    return content


class Problems:
    """Raises at the first malformed line, or counts them: `unit` says what is then left out."""

    def __init__(self, path: Path, on_error: str, unit: str = "malformed lines"):
        if on_error not in ("raise", "skip"):
            raise ValueError(f'`on_error` must be "raise" or "skip". Received: on_error={on_error!r}')
        self._path = path
        self._unit = unit
        self._skip = on_error == "skip"
        self._errors: list[DataError] = []

    def report(self, line: int, problem: str) -> None:
        error = DataError(self._path, line, problem)
        if not self._skip:
            raise error
        self._errors.append(error)

    def warn(self, stacklevel: int = 3) -> None:
        if self._errors:
            warnings.warn(
                f"{self._path}: {self._unit} left out: {len(self._errors)}. The first: {self._errors[0]}",
                stacklevel=stacklevel,
            )


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; they end at a line feed and nowhere else."""
    lines = read_bytes(path).removeprefix(b"\xef\xbb\xbf").split(b"\n")  # spreadsheets write a byte-order mark
    if not lines[-1]:
        lines.pop()  # what follows the last line end is no line
    for number, line in enumerate(lines, start=1):
        yield number, line.removesuffix(b"\r")


def _lines(path: Path, problems: Problems) -> Iterator[tuple[int, str]]:
    for number, line in raw_lines(path):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.report(number, undecodable(error))


def undecodable(error: UnicodeDecodeError) -> str:
    """What to report of a line that is not UTF-8."""
    return f"not UTF-8: byte {error.object[error.start]:#04x} at column {error.start + 1}"


def _tsv_rows(lines: Iterator[tuple[int, str]]) -> Iterator[Row]:
    for number, line in lines:
        yield number, line.split("\t")


def _csv_rows(path: Path, problems: Problems) -> Iterator[Row]:
    """Parse CSV, in which a quoted field may span lines: a row has the number of its first line.

    A line that is not UTF-8 is parsed nevertheless, to see where its row ends; the whole row is then left out.
    """
    last = 0
    bad: list[tuple[int, str]] = []  # lines of the current row that are not UTF-8, and why

    def feed() -> Iterator[str]:
        nonlocal last
        for number, line in raw_lines(path):
            last = number
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                bad.append((number, undecodable(error)))
                text = line.decode("utf-8", errors="replace")
            yield text + "\n"

    reader = csv.reader(feed(), strict=True)
    while True:
        first = last + 1
        bad.clear()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.report(first, f"malformed CSV: {error}")
            continue
        if bad:
            problems.report(*bad[0])
        else:
            yield first, fields


def _table_records(path: Path, rows: Iterator[Row], columns: Sequence[Column], problems: Problems) -> Iterator[Record]:
    line, fields = next(rows, (1, [""]))
    header = [field.strip() for field in fields]
    names = []
    for column in columns:
        name = column.among(header)
        if name is None:
            raise DataError(path, line, f"the header has no column {column}; its columns: {_names(header)}")
        if header.count(name) > 1:
            raise DataError(path, line, f'the header has the column "{name}" more than once: {_names(header)}')
        names.append(name)
    indices = [header.index(name) for name in names]
    for line, fields in rows:
        if len(fields) == len(header):
            yield line, names, [fields[index] for index in indices]
        else:
            problems.report(line, f"{len(header)} columns expected as in the header, found {len(fields)}")


def _json_records(lines: Iterator[tuple[int, str]], columns: Sequence[Column], problems: Problems) -> Iterator[Record]:
    for number, line in lines:
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            problems.report(number, f"invalid JSON at column {error.colno}: {error.msg}")
            continue
        except (RecursionError, ValueError) as error:  # nested too deeply; a number of too many digits
            problems.report(number, f"JSON that Python cannot read: {error}")
            continue
        if not isinstance(record, dict):
            problems.report(number, f"a JSON object expected, found {type(record).__name__}")
            continue
        names = [column.among(record) for column in columns]
        problem = next(filter(None, (_json_problem(record, *each) for each in zip(columns, names))), None)
        if problem:
            problems.report(number, problem)
        else:
            yield number, [str(name) for name in names], [str(record[name]) for name in names]


def _json_problem(record: dict[str, Any], column: Column, name: str | None) -> str | None:
    if name is None:
        return f"the object has no key {column}; its keys: {_names(record)}"
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, column.types):
        kinds = " or ".join(_KINDS[kind] for kind in column.types)
        return f'the {column.role} (key "{name}") must be {kinds}, found {value!r}'
    return None


def _names(names) -> str:
    return ", ".join(f'"{name}"' for name in names) or "none"
