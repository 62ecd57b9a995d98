"""Reads records from your own files: tables (TSV, CSV, TXT) and JSON (lines or an array)."""

from __future__ import annotations

import csv
import itertools
import json
import os
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from keras_slstm.errors import DataError
from keras_slstm.suggestions import did_you_mean, list_names
from keras_slstm.text.lines import decode, raw_lines, without_compression
from keras_slstm.text.vocabulary import is_encodable

PathLike = str | os.PathLike[str]
OnError = Literal["raise", "skip"]
Row = tuple[int, list[str]]  # (line number, fields)
Record = tuple[int, list[str], list[str]]  # (line number, names of the columns, their values)

SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "vertical bars"}
USUAL_SEPARATORS = {".tsv": "\t", ".csv": ",", ".txt": None}
KINDS = (*USUAL_SEPARATORS, ".json", ".jsonl", ".ndjson")

# Python's own limit, 131,072 characters, is too small for a book. This one is for a quotation mark that is not closed:
# it would otherwise take the rest of a file of any size into memory.
_LONGEST_FIELD = 2**24

_TYPE_NAMES: dict[type, str] = {str: "a string", int: "an integer", float: "a number"}


class Column(NamedTuple):
    """A column to read from a file of examples.

    Args:
        role: The content of the column, for messages.
        names: The possible names of the column (in JSON: of the key). The first one that exists is read.
        types: The types that its values may have in JSON.
        partners: For one of two texts, the name of the other text that belongs to each name (the same name, if any
            other text will do). A name counts only if its partner exists, too, and only one name may count.
    """

    role: str
    names: Sequence[str]
    types: tuple[type, ...] = (str,)
    partners: Sequence[str] = ()

    def among(self, names: Collection[str]) -> str | None:
        """Return the first of the column's names that is in `names`, with its partner."""
        return next(iter(self._fitting(names)), None)

    def ambiguity(self, names: Collection[str]) -> str | None:
        """Return the problem if several of the column's names count, although only one may."""
        found = self._fitting(names)
        if not self.partners or len(found) < 2:
            return None
        return (
            f"the {self.role} could be {' or '.join(map(_quoted, found))}: name the two columns to read "
            "(`first_column` and `second_column`; --first-column and --second-column), or rename the others"
        )

    def suggestion(self, names: Collection[str]) -> str:
        """Return a sentence that suggests a similar name, or `""`."""
        missing = (name for name in self.names if name not in names)
        return next(filter(None, (did_you_mean(name, names) for name in missing)), "")

    def __str__(self) -> str:
        pairs = zip(self.names, self.partners or self.names)
        return " or ".join(
            _quoted(name) + (f" (with {_quoted(partner)})" if partner != name else "") for name, partner in pairs
        )

    def _fitting(self, names: Collection[str]) -> list[str]:
        pairs = zip(self.names, self.partners or self.names)
        return [name for name, partner in pairs if name in names and partner in names]


def check_distinct(names: dict[str, str | None]) -> None:
    """Check that no column, as named by the user, has two roles.

    Args:
        names: The name for each role; None if the user has not named it.

    Raises:
        ValueError: If two names are the same.
    """
    for (role, name), (other, same) in itertools.combinations(names.items(), 2):
        if name is not None and name == same:
            raise ValueError(f'The {role} and the {other} are both read from the column "{name}": name two columns.')


def _quoted(name: str) -> str:
    return f'"{name}"'


class Problems:
    """Raises an error at the first malformed line, or skips all and counts them for a warning in terms of `unit`."""

    def __init__(self, path: PathLike, on_error: str, unit: str = "malformed lines"):
        if on_error not in ("raise", "skip"):
            raise ValueError(f'`on_error` must be "raise" or "skip", but got {on_error!r}.')
        self._path = path
        self._unit = unit
        self._skip = on_error == "skip"
        self._errors: list[DataError] = []

    def report(self, line: int, problem: str) -> None:
        self.add(DataError(self._path, line, problem))

    def add(self, error: DataError) -> None:
        if not self._skip:
            raise error
        self._errors.append(error)

    def warn(self, stacklevel: int = 3) -> None:
        if self._errors:
            warnings.warn(
                f"{self._path}: {self._unit} left out: {len(self._errors)}. The first: {self._errors[0]}",
                stacklevel=stacklevel,
            )


def file_kind(path: PathLike) -> str:
    """Return the suffix of a file of examples, one of `KINDS`, without a final `.gz` or `.zst`.

    Raises:
        ValueError: If the file has another suffix.
    """
    kind = Path(without_compression(path)).suffix
    if kind not in KINDS:
        raise ValueError(
            f"Labelled text must be in a file named {', '.join(KINDS[:-1])} or {KINDS[-1]}, optionally followed by "
            f".gz or .zst, but got {path}."
        )
    return kind


def read_columns(path: PathLike, columns: Sequence[Column], on_error: OnError) -> list[tuple[int, list[str]]]:
    """Read some columns of a file of examples, none of which may be empty; see `read_labelled_text`.

    Returns:
        For each example, the number of the line on which it begins, and a string for each column.
    """
    return list(iterate_columns(path, columns, on_error))


def iterate_columns(
    path: PathLike, columns: Sequence[Column], on_error: OnError, stacklevel: int = 5
) -> Iterator[tuple[int, list[str]]]:
    """Yield the examples of `read_columns` one by one, with one line (of `.json`: the whole array) in memory."""
    path = Path(path)
    problems = Problems(path, on_error)
    read = _table_records if file_kind(path) in USUAL_SEPARATORS else _json_records
    empty = True
    for record in filled_records(read(path, columns, problems), columns, problems):
        empty = False
        yield record
    problems.warn(stacklevel)  # the warning points to the caller of the public reader
    if empty:
        raise no_example(path)


def filled_records(
    records: Iterable[Record], columns: Sequence[Column], problems: Problems
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the values of each record; report those with an empty value."""
    for line, names, values in records:
        for column, name, value in zip(columns, names, values):
            if not value.strip():
                problems.report(line, f'the {column.role} (column "{name}") is empty')
                break
        else:
            yield line, values


def no_example(path: PathLike) -> DataError:
    """The error for a file without examples."""
    return DataError(path, 1, "the file contains no examples")


def decoded_lines(
    path: PathLike, problems: Problems, lines: Iterable[tuple[int, bytes]] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each non-empty line in UTF-8, by default of the whole file; report other lines."""
    for number, line in raw_lines(path) if lines is None else lines:
        try:
            text = decode(path, number, line)
        except DataError as error:
            problems.add(error)
            continue
        if text.strip():
            yield number, text


# --- tables --------------------


class Header(NamedTuple):
    """The names and indices of the columns to read, and the number of columns in the table."""

    names: list[str]
    indices: list[int]
    width: int


def _table_records(path: Path, columns: Sequence[Column], problems: Problems) -> Iterator[Record]:
    separator = find_separator(path, columns)
    rows = tsv_rows(path, problems) if separator == "\t" else _csv_rows(path, separator, problems)
    filled = (row for row in rows if any(field.strip() for field in row[1]))
    header = find_columns(path, columns, filled)
    if separator != USUAL_SEPARATORS[file_kind(path)]:
        warnings.warn(f"{path}: columns are separated by {SEPARATORS[separator]}", stacklevel=6)
    yield from select_columns(filled, header, problems)


def find_columns(path: Path, columns: Sequence[Column], rows: Iterator[Row]) -> Header:
    """Find the columns in the header, the first of the rows."""
    line, fields = next(rows, (1, [""]))
    header = [field.strip() for field in fields]
    names = []
    for column in columns:
        name = column.among(header)
        if name is None:
            hint = column.suggestion(header) or " The first line must name the columns."
            raise DataError(path, line, f"the header has no column {column}; its columns: {list_names(header)}.{hint}")
        if problem := column.ambiguity(header):
            raise DataError(path, line, problem)
        if header.count(name) > 1:
            raise DataError(path, line, f'the header has the column "{name}" more than once: {list_names(header)}')
        names.append(name)
    return Header(names, [header.index(name) for name in names], len(header))


def select_columns(rows: Iterable[Row], header: Header, problems: Problems) -> Iterator[Record]:
    """Yield the records of the rows that are as wide as the header."""
    for line, fields in rows:
        if len(fields) == header.width:
            yield line, header.names, [fields[index] for index in header.indices]
        else:
            problems.report(line, f"expected {header.width} columns as in the header, found {len(fields)}")


def find_separator(path: Path, columns: Sequence[Column]) -> str:
    """Return the usual separator of the file type, unless the columns are only found with another separator."""
    header = next((line for _, line in raw_lines(path) if line.strip()), b"").decode("utf-8", errors="replace")
    usual = USUAL_SEPARATORS[file_kind(path)]
    for separator in sorted(SEPARATORS, key=lambda one: one != usual):  # the usual one first
        names = [name.strip().strip('"') for name in header.split(separator)]
        if all(column.among(names) for column in columns):
            return separator
    return usual or max(SEPARATORS, key=header.count)


def tsv_rows(path: Path, problems: Problems, lines: Iterable[tuple[int, bytes]] | None = None) -> Iterator[Row]:
    """Yield the fields of each line (None: of the file) that is UTF-8 and not empty."""
    for number, line in decoded_lines(path, problems, lines):
        yield number, line.split("\t")


def _csv_rows(path: Path, separator: str, problems: Problems) -> Iterator[Row]:
    """Parse CSV. A quoted field may span several lines; a row has the number of its first line.

    A line that is not UTF-8 is still parsed, to find the end of its row; then the whole row is skipped.
    """
    lines = raw_lines(path)
    row: list[tuple[int, bytes]] = []  # the lines of the current row
    again: deque[tuple[int, bytes]] = deque()  # lines to parse once more
    bad: list[DataError] = []  # of the current row

    def feed() -> Iterator[str]:
        while True:
            line = again.popleft() if again else next(lines, None)
            if line is None:
                return
            row.append(line)
            try:
                text = decode(path, *line)
            except DataError as error:
                bad.append(error)
                text = line[1].decode("utf-8", errors="replace")
            yield text + "\n"

    reader = csv.reader(feed(), delimiter=separator, strict=True)
    while True:
        row.clear()
        bad.clear()
        try:
            fields = _next_row(reader)
        except StopIteration:
            return
        except csv.Error as error:
            unclosed = " (a quotation mark is not closed)" if "unexpected end" in str(error) else ""
            problems.report(row[0][0], f"malformed CSV: {error}{unclosed}")
            again.extendleft(reversed(row[1:]))  # a quotation mark that is not closed takes in the lines after it
            reader = csv.reader(feed(), delimiter=separator, strict=True)
            continue
        if bad:
            problems.add(bad[0])
        else:
            yield row[0][0], fields


def _next_row(reader: Iterator[list[str]]) -> list[str]:
    """Read a row whose fields may be longer than Python's limit, which is global and may be the user's."""
    usual = csv.field_size_limit(_LONGEST_FIELD)
    try:
        return next(reader)
    finally:
        csv.field_size_limit(usual)


# --- JSON --------------------


def _json_records(path: Path, columns: Sequence[Column], problems: Problems) -> Iterator[Record]:
    first = next((line.lstrip() for _, line in raw_lines(path) if line.strip()), b"")
    is_array = file_kind(path) == ".json" and first.startswith(b"[")
    for number, record in _array(path) if is_array else _json_lines(path, problems):
        if not isinstance(record, dict):
            problems.report(number, f"expected a JSON object, found {type(record).__name__}")
            continue
        names = [column.among(record) for column in columns]
        problem = next(filter(None, (_json_problem(record, *each) for each in zip(columns, names))), None)
        if problem:
            problems.report(number, problem)
        else:
            yield number, [str(name) for name in names], [str(record[name]) for name in names]


def _json_lines(path: Path, problems: Problems) -> Iterator[tuple[int, Any]]:
    for number, line in decoded_lines(path, problems):
        try:
            yield number, _parse(path, number, json.loads, line)
        except DataError as error:
            problems.add(error)


def _array(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the elements of an array, each with the line on which it begins. A syntax error always raises."""
    text = "\n".join(decode(path, number, line) for number, line in raw_lines(path))
    raw_decode = json.JSONDecoder().raw_decode
    end = _skip_space(text, 0) + 1  # after the bracket
    line, counted = 1, 0
    while True:
        start = _skip_space(text, end)
        line, counted = line + text.count("\n", counted, start), start
        if text[start : start + 1] == "]":
            return
        if start == len(text):
            raise DataError(path, line, "the JSON array is not closed: the file is incomplete")
        value, end = _parse(path, line, raw_decode, text, start)
        yield line, value
        end = _skip_space(text, end)
        if text[end : end + 1] == ",":
            end += 1
        elif text[end : end + 1] not in ("]", ""):
            line += text.count("\n", counted, end)
            raise DataError(path, line, f"expected a comma or ] in the JSON array, found {text[end : end + 20]!r}")


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\r\n":
        start += 1
    return start


def _parse(path: Path, number: int, parse: Callable[..., Any], text: str, *start: int) -> Any:
    try:
        return parse(text, *start)
    except json.JSONDecodeError as error:
        line = error.lineno if start else number
        raise DataError(path, line, f"invalid JSON at column {error.colno}: {error.msg}") from error
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number with too many digits
        raise DataError(path, number, f"Python cannot read this JSON: {error}") from error


def _json_problem(record: dict[str, Any], column: Column, name: str | None) -> str | None:
    if name is None:
        return f"the object has no key {column}; its keys: {list_names(record)}.{column.suggestion(record)}"
    if problem := column.ambiguity(record):
        return problem
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, column.types):
        kinds = " or ".join(_TYPE_NAMES[kind] for kind in column.types)
        found = f"a {type(value).__name__}" if isinstance(value, (dict, list)) else f"{value!r:.60}"
        return f'the {column.role} (key "{name}") must be {kinds}, found {found}'
    if not is_encodable(str(value)):
        return f'the {column.role} (key "{name}") contains a lone surrogate: {value!r:.60}'
    return None
