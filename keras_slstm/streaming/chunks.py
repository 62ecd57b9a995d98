"""Blocks of encoded texts as bytes, in files that are complete or absent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_slstm.errors import DataError
from keras_slstm.extras import require
from keras_slstm.files import complete_file

OPTIONS = "group_size:1,zstd:1"  # each record can be read alone


class Chunk(NamedTuple):
    """Some encoded texts: their ids, one after another, the number of ids of each, and the labels."""

    ids: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray

    def to_bytes(self) -> bytes:
        """The chunk as little-endian int32 numbers: how many lengths and labels, then lengths, labels, ids."""
        sizes = len(self.lengths), len(self.labels)
        return np.concatenate([sizes, self.lengths, self.labels, self.ids]).astype("<i4").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Chunk:
        """The chunk that `to_bytes` wrote."""
        numbers = np.frombuffer(data, "<i4")
        texts, labelled = numbers[:2].tolist()
        lengths, labels, ids = np.split(numbers[2:], [texts, texts + labelled])
        return cls(ids, lengths, labels)

    def split(self, texts: Sequence[int], labels: Sequence[int]) -> Iterator[Chunk]:
        """Yield chunks of so many texts with so many labels."""
        lengths = np.split(self.lengths, np.cumsum(texts)[:-1])
        ids = np.split(self.ids, np.cumsum([part.sum() for part in lengths])[:-1])
        return map(Chunk, ids, lengths, np.split(self.labels, np.cumsum(labels)[:-1]))


def write_chunks(path: str | os.PathLike[str], chunks: Iterable[Chunk]) -> None:
    """Write a shard: a file of chunks. A crash leaves no file of this name."""
    module = _module()
    with complete_file(path) as unfinished:
        writer = module.ArrayRecordWriter(os.fspath(unfinished), OPTIONS)
        try:
            for chunk in chunks:
                writer.write(chunk.to_bytes())
        finally:
            writer.close()


class Shard:
    """Reads the chunks of a shard by their numbers.

    Args:
        path: The file.
        chunks: How many chunks it must have.

    Raises:
        DataError: If it has another number of chunks, as a file has that was cut off.
    """

    def __init__(self, path: str | os.PathLike[str], chunks: int):
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"There is no file {self.path}: prepare the corpus again (overwrite=True).")
        self._reader: Any = _module().ArrayRecordReader(os.fspath(path))
        found = self._reader.num_records()
        if found != chunks:
            raise DataError(
                self.path, 1, f"{chunks} records expected, found {found}: prepare the corpus again (overwrite=True)"
            )

    def read(self, numbers: Sequence[int]) -> list[Chunk]:
        """The chunks of these numbers."""
        return [Chunk.from_bytes(data) for data in self._reader.read(list(numbers))]


def _module() -> Any:
    return require("array_record.python.array_record_module", "stream")
