"""The labelled texts of files and of TFDS data sets, one after another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from keras_slstm.datasets import prepared
from keras_slstm.datasets.records import Column, OnError, PathLike, iterate_columns
from keras_slstm.errors import DataError
from keras_slstm.extras import require
from keras_slstm.suggestions import did_you_mean, list_names

TFDS = "tfds:"  # a source that begins so is the name of a data set and its split: `tfds:glue/sst2/train`
BLOCK = 1024  # examples that are read, tokenised and stored together

Labelled = tuple[int, str, str]  # line, text, label
Block = tuple[int, list[int], list[str], list[str]]  # number of the block in its source; lines, texts, labels


class Source(NamedTuple):
    """A file or a TFDS split of labelled texts.

    Args:
        name: A path, or `tfds:NAME/SPLIT`.
        text_column, label_column: The names of the columns, keys or features.
        on_error: `"raise"` or `"skip"`, for malformed lines.
        data_dir: Where TFDS keeps its data.
    """

    name: str
    text_column: str = "text"
    label_column: str = "label"
    on_error: OnError = "raise"
    data_dir: str | None = None

    def blocks(self, part: int = 0, parts: int = 1) -> Iterator[Block]:
        """Yield blocks of `BLOCK` examples: those whose number leaves the remainder `part` when divided by `parts`."""
        examples = self._examples()
        for number in itertools.count():
            block = list(itertools.islice(examples, BLOCK))
            if not block:
                return
            if number % parts == part:
                lines, texts, labels = zip(*block)
                yield number, list(lines), list(texts), list(labels)

    def state(self) -> list[str]:
        """Strings that change when the source does: its name, settings, size and time of the last change."""
        settings = [self.text_column, self.label_column, self.on_error]
        if self.name.startswith(TFDS):
            return [self.name, *settings]
        found = Path(self.name).stat()
        return [str(Path(self.name).resolve()), str(found.st_size), str(found.st_mtime_ns), *settings]

    def _examples(self) -> Iterator[Labelled]:
        if self.name.startswith(TFDS):
            return self._tfds_examples()
        if Path(self.name).suffix.lower() == ".parquet":
            return self._parquet_examples()
        columns = Column("text", [self.text_column]), Column("label", [self.label_column], (str, int))
        rows = iterate_columns(self.name, columns, self.on_error)
        return ((line, text, label.strip()) for line, (text, label) in rows)

    def _parquet_examples(self) -> Iterator[Labelled]:
        parquet = require("pyarrow.parquet", "stream")
        try:
            file = parquet.ParquetFile(self.name)
        except require("pyarrow", "stream").ArrowInvalid as error:
            raise DataError(self.name, 1, f"not a valid Parquet file ({error})") from error
        with file:
            columns = [self.text_column, self.label_column]
            for column in columns:
                names = file.schema_arrow.names
                if column not in names:
                    hint = did_you_mean(column, names)
                    raise DataError(self.name, 1, f'no column "{column}"; its columns: {list_names(names)}.{hint}')
            rows = itertools.count(1)
            for batch in file.iter_batches(BLOCK, columns=columns):
                texts, labels = (batch.column(column).to_pylist() for column in columns)
                for text, label, row in zip(texts, labels, rows):
                    if not isinstance(text, str) or not text.strip() or not str(label).strip() or label is None:
                        raise DataError(self.name, row, f"row {row} has no text or no label: {text!r}, {label!r}")
                    yield row, text, str(label).strip()

    def _tfds_examples(self) -> Iterator[Labelled]:
        name, _, split = self.name.removeprefix(TFDS).rpartition("/")
        builder = prepared.prepare(name, self.data_dir)
        feature = builder.info.features[self.label_column]
        names = getattr(feature, "names", None)
        for number, record in enumerate(prepared.read_split(builder, split), start=1):
            label: Any = record[self.label_column]
            text = record[self.text_column].decode("utf-8")
            if text.strip():
                yield number, text, names[int(label)] if names else _as_text(label)


def make_sources(names: PathLike | list[PathLike] | tuple[PathLike, ...], **settings: Any) -> list[Source]:
    """The sources of these names, in their order.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If there is no name, or one occurs twice.
    """
    several = names if isinstance(names, (list, tuple)) else [names]
    texts = [str(name) for name in several]
    if not texts or len(set(texts)) < len(texts):
        raise ValueError(f"`files` must be one or more different files. Received: {texts}")
    for text in texts:
        if not text.startswith(TFDS) and not Path(text).is_file():
            raise FileNotFoundError(f"There is no file {text}.")
    return [Source(text, **settings) for text in texts]


def _as_text(label: Any) -> str:
    return label.decode("utf-8") if isinstance(label, bytes) else str(label)
