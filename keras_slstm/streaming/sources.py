"""Reads labelled examples from files and TFDS data sets, block by block."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from keras_slstm.datasets import prepared
from keras_slstm.datasets.column_blocks import is_tab_separated, tab_separated_blocks
from keras_slstm.datasets.conll import iterate_conll
from keras_slstm.datasets.corpus import text_features
from keras_slstm.datasets.loading import ReadRow, Row
from keras_slstm.datasets.pair_corpus import pair_features
from keras_slstm.datasets.pair_readers import pair_columns
from keras_slstm.datasets.readers import text_columns
from keras_slstm.datasets.records import Column, OnError, PathLike, Problems, iterate_columns
from keras_slstm.datasets.tagged_corpus import tagged_features
from keras_slstm.errors import DataError
from keras_slstm.extras import require
from keras_slstm.suggestions import list_names
from keras_slstm.text.tag_schemes import convert_tags, detect_scheme

TFDS = "tfds:"  # prefix of the name of a data set and its split: `tfds:glue/sst2/train`
BLOCK = 1024  # number of examples that are read and stored together

# An example is a text with a label, two texts with a label, or the words of a sentence with their tags.
Kind = Literal["texts", "pairs", "sentences"]


class Block(NamedTuple):
    """Consecutive examples of a source.

    Attributes:
        number: The number of the block in the source.
        texts: The texts (the two texts of a pair follow each other), or the sentences as lists of words.
        labels: One label for each text, pair or word.
        lines: The line number of each label; empty if the source has no lines.
    """

    number: int
    texts: list[Any]
    labels: list[str]
    lines: list[int]


class Source(NamedTuple):
    """A file or a TFDS split with labelled examples.

    Args:
        name: A path, or `tfds:NAME/SPLIT`.
        kind: The kind of the examples.
        columns: The columns, keys or features of the texts and the label, or of the words and tags. None: the usual
            names.
        scheme: The scheme to which tags are converted, or None.
        found_scheme: The scheme of the tags in the source; see `with_scheme`.
        on_error: What to do at a malformed line: `"raise"` or `"skip"`.
        data_dir: The data folder of TFDS.
    """

    name: str
    kind: Kind = "texts"
    columns: tuple[Any, ...] = (None, None)
    scheme: str | None = None
    found_scheme: str | None = None
    on_error: OnError = "raise"
    data_dir: str | None = None

    def blocks(self, part: int = 0, parts: int = 1) -> Iterator[Block]:
        """Yield the blocks of up to `BLOCK` examples whose number modulo `parts` is `part`."""
        if self._has_tabs():
            found = tab_separated_blocks(self.name, self._columns(), self.on_error, BLOCK, part, parts)
            for number, lines, (*texts, labels) in found:
                in_turn = [text for texts_per_example in zip(*texts) for text in texts_per_example]
                yield Block(number, in_turn, list(map(str.strip, labels)), lines)
            return
        rows = self.rows()
        for number in itertools.count():
            block = list(itertools.islice(rows, BLOCK))
            if not block:
                return
            if number % parts == part:
                yield self._block(number, block)

    def state(self) -> list[str]:
        """Strings that change when the source does: its name, settings, size and modification time."""
        settings = list(map(str, (self.kind, self.columns, self.scheme, self.on_error)))
        if self.name.startswith(TFDS):
            return [self.name, *settings, *([] if self.data_dir is None else [str(Path(self.data_dir).resolve())])]
        found = Path(self.name).stat()
        return [str(Path(self.name).resolve()), str(found.st_size), str(found.st_mtime_ns), *settings]

    def rows(self) -> Iterator[Row]:
        """Yield the examples, with unconverted tags."""
        if self.name.startswith(TFDS):
            return self._tfds_rows()
        if self.kind == "sentences":
            token_column, tag_column = self.columns
            sentences = iterate_conll(self.name, tag_column, token_column, self.found_scheme, self.on_error)
            return (Row(*sentence) for sentence in sentences)
        if self.is_parquet():
            return self._parquet_rows()
        records = iterate_columns(self.name, self._columns(), self.on_error)
        return (self._row(line, values) for line, values in records)

    def _block(self, number: int, rows: list[Row]) -> Block:
        lines = [line for row in rows for line in row.lines]
        if self.kind == "sentences":
            return Block(number, [row.x for row in rows], [tag for row in rows for tag in self._tags(row)], lines)
        texts = [text for row in rows for text in row.x] if self.kind == "pairs" else [row.x for row in rows]
        return Block(number, texts, [row.y for row in rows], lines)

    def _tags(self, row: Row) -> list[str]:
        if self.scheme is None or self.found_scheme is None:
            return list(row.y)
        try:
            return convert_tags(row.y, self.found_scheme, self.scheme)
        except ValueError as error:  # only for TFDS: the tags of files are already checked
            raise ValueError(f"{self.name}, sentence {' '.join(row.x)[:200]!r}: {error}") from error

    def _row(self, line: int, values: list[str]) -> Row:
        *texts, label = values
        return Row(texts if self.kind == "pairs" else texts[0], label.strip(), [line])

    def _columns(self) -> list[Column]:
        return pair_columns(*self.columns) if self.kind == "pairs" else text_columns(*self.columns)

    def is_parquet(self) -> bool:
        """Whether the source is a Parquet file."""
        return not self.name.startswith(TFDS) and Path(self.name).suffix.lower() == ".parquet"

    def _has_tabs(self) -> bool:
        """Whether the source is a tab-separated file."""
        if self.kind == "sentences" or self.name.startswith(TFDS) or self.is_parquet():
            return False
        return is_tab_separated(self.name, self._columns())

    def _parquet_rows(self) -> Iterator[Row]:
        parquet = require("pyarrow.parquet", "stream")
        try:
            file = parquet.ParquetFile(self.name)
        except require("pyarrow", "stream").ArrowInvalid as error:
            raise DataError(self.name, 1, f"not a valid Parquet file ({error})") from error
        problems = Problems(self.name, self.on_error, "malformed rows")
        with file:
            known = file.schema_arrow.names
            names = []
            for column in self._columns():
                name = column.among(known)
                if name is None:
                    hint = column.suggestion(known)
                    raise DataError(self.name, 1, f"no column {column}; existing columns: {list_names(known)}.{hint}")
                if problem := column.ambiguity(known):
                    raise DataError(self.name, 1, problem)
                names.append(name)
            batches = file.iter_batches(BLOCK, columns=names)
            rows = (row for batch in batches for row in zip(*(batch.column(name).to_pylist() for name in names)))
            for number, (*texts, label) in enumerate(rows, start=1):
                filled = all(isinstance(text, str) and text.strip() for text in texts)
                if filled and label is not None and str(label).strip():
                    yield self._row(number, [*texts, str(label)])
                else:
                    found = ", ".join(map(repr, (*texts, label)))
                    problems.report(number, f"row {number} has an empty text or label: {found}")
        problems.warn()

    def _tfds_rows(self) -> Iterator[Row]:
        name, _, split = self.name.removeprefix(TFDS).rpartition("/")
        builder = prepared.prepare(name, self.data_dir)
        row_of = self._tfds_features(name, builder)
        return (row for record in prepared.read_split(builder, split) if (row := row_of(record)) is not None)

    def _tfds_features(self, name: str, builder: Any) -> ReadRow:
        if self.kind == "sentences":
            return tagged_features(name, builder, *self.columns)
        row_of, labels = (pair_features if self.kind == "pairs" else text_features)(name, builder, *self.columns)
        if not labels:
            raise ValueError(f'"{name}" has scores, but a prepared corpus needs labels.')
        return row_of


def make_sources(names: PathLike | list[PathLike] | tuple[PathLike, ...], **settings: Any) -> list[Source]:
    """Return the sources with these names.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If there is no name, a name occurs twice, or a file cannot contain examples of this kind.
    """
    several = names if isinstance(names, (list, tuple)) else [names]
    texts = [str(name) for name in several]
    if not texts or len(set(texts)) < len(texts):
        raise ValueError(f"`files` must name one or more different files, but got {texts}.")
    for text in texts:
        if not text.startswith(TFDS) and not Path(text).is_file():
            raise FileNotFoundError(f"{text} does not exist.")
    sources = [Source(text, **settings) for text in texts]
    for source in sources:
        if source.kind == "sentences" and source.is_parquet():
            raise ValueError(
                f"Tagged sentences must be in a column file or in TFDS, but got the Parquet file {source.name}."
            )
    return sources


def with_scheme(sources: list[Source]) -> list[Source]:
    """Return the sources with the scheme of their tags, detected in all of them. Without a `scheme`, change nothing."""
    if sources[0].scheme is None:
        return sources
    found = detect_scheme(row.y for source in sources for row in source.rows())
    return [source._replace(found_scheme=found) for source in sources]
