"""Reads lines as bytes, so that an error can name the line that is not UTF-8."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from keras_slstm.errors import DataError
from keras_slstm.text.zstd_reader import CHUNK, ZstdReader

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # spreadsheets put it at the start of UTF-8 files
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
COMPRESSIONS = (".gz", ".zst")


def without_compression(path: str | os.PathLike[str]) -> str:
    """The lower-cased name of a file without a final `.gz` or `.zst`.

    >>> without_compression("data/Reviews.TSV.gz")
    'reviews.tsv'
    """
    path = Path(path)
    return (path.stem if path.suffix.lower() in COMPRESSIONS else path.name).lower()


def open_bytes(path: str | os.PathLike[str]) -> io.BufferedIOBase:
    """Open a file for reading bytes; decompress it if its name ends in `.gz` or `.zst`.

    Raises:
        ImportError: If the file ends in `.zst` and `zstandard` is not installed.
    """
    kind = Path(path).suffix.lower()
    if kind == ".zst":
        return io.BufferedReader(ZstdReader(path), CHUNK)
    if kind == ".gz":
        return gzip.open(path)
    return open(path, "rb")


def raw_lines(
    path: str | os.PathLike[str], file: io.BufferedIOBase | BinaryIO | None = None
) -> Iterator[tuple[int, bytes]]:
    r"""Yield the lines of a file with their numbers, counted from 1.

    Lines end at a line feed with an optional carriage return before it, and nowhere else: texts may contain the other
    characters at which `str.splitlines` splits. In a file without any line feed, lines end at carriage returns.

    Args:
        path: The file; compressed if its name ends in `.gz` or `.zst`.
        file: An open file to read instead, such as that of standard input; `path` is then its name in errors.

    Raises:
        DataError: If the file is empty or UTF-16, or its compressed data is damaged.
    """
    number = 0
    try:
        with open_bytes(path) if file is None else contextlib.nullcontext(file) as opened:
            first = opened.readline()
            if first.startswith(UTF_16_MARKS):
                raise DataError(path, 1, "the file is UTF-16: save it as UTF-8")
            first = first.removeprefix(BYTE_ORDER_MARK)
            if not first:
                raise DataError(path, 1, "the file is empty")
            lines: Iterable[bytes] = itertools.chain([first], opened)
            if not first.endswith(b"\n") and b"\r" in first:
                lines = first.removesuffix(b"\r").split(b"\r")
            for number, line in enumerate(lines, start=1):
                yield number, line.removesuffix(b"\n").removesuffix(b"\r")
    except Exception as error:
        if not isinstance(error, (gzip.BadGzipFile, EOFError, zlib.error)) and type(error).__name__ != "ZstdError":
            raise
        kind = "zst" if Path(path).suffix.lower() == ".zst" else "gzip"
        raise DataError(path, number + 1, f"not a valid {kind} file ({error}): compress it again") from error


def text_lines(
    path: str | os.PathLike[str], file: io.BufferedIOBase | BinaryIO | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line, even of an empty one; see `raw_lines`.

    Raises:
        DataError: If a line is not UTF-8; see also `raw_lines`.
    """
    for number, line in raw_lines(path, file):
        yield number, decode(path, number, line)


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
