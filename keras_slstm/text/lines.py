"""Lines of files, read as bytes, so that an error can name the line that is not UTF-8."""

from __future__ import annotations

import gzip
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from keras_slstm.errors import DataError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # spreadsheets write it at the beginning of UTF-8 files
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def raw_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    r"""Yield the lines of a file with their numbers, counted from 1.

    Lines end at a line feed, after an optional carriage return, and nowhere else: texts may contain the other
    characters at which `str.splitlines` cuts. Only in a file without any line feed do they end at carriage returns.

    Args:
        path: The file; gzip-compressed if its name ends in `.gz`.

    Raises:
        DataError: If the file is empty, is UTF-16, or its compression is damaged.
    """
    number = 0
    try:
        with gzip.open(path) if Path(path).suffix.lower() == ".gz" else open(path, "rb") as file:
            first = file.readline()
            if first.startswith(UTF_16_MARKS):
                raise DataError(path, 1, "the file is UTF-16: save it as UTF-8")
            first = first.removeprefix(BYTE_ORDER_MARK)
            if not first:
                raise DataError(path, 1, "the file is empty")
            lines: Iterable[bytes] = itertools.chain([first], file)
            if not first.endswith(b"\n") and b"\r" in first:
                lines = first.removesuffix(b"\r").split(b"\r")
            for number, line in enumerate(lines, start=1):
                yield number, line.removesuffix(b"\n").removesuffix(b"\r")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(path, number + 1, f"not a valid gzip file ({error}): compress it again") from error


def decode(path: str | os.PathLike[str], number: int, line: bytes) -> str:
    """Decode a line.

    Raises:
        DataError: If it is not UTF-8.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte, column = error.object[error.start], error.start + 1
        raise DataError(
            path, number, f"not UTF-8: byte {byte:#04x} at column {column}. Save the file as UTF-8"
        ) from error
