"""Reads and writes chunks of encoded texts in shards. A file is either complete or absent."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_slstm.errors import DataError
from keras_slstm.extras import require
from keras_slstm.files import DISK_IS_FULL, complete_file

OPTIONS = "group_size:1,zstd:1"  # so that each record can be read separately
_ADVICE = "delete the corpus folder and prepare it again"


class Chunk(NamedTuple):
    """Some encoded texts: the ids of all of them, concatenated, the number of ids of each text, and the labels."""

    ids: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray

    def to_bytes(self) -> bytes:
        """Return little-endian int32 numbers: the numbers of lengths and labels, then the lengths, labels and ids."""
        sizes = len(self.lengths), len(self.labels)
        return np.concatenate([sizes, self.lengths, self.labels, self.ids]).astype("<i4").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Chunk:
        """Read the result of `to_bytes`."""
        numbers = np.frombuffer(data, "<i4")
        texts, labelled = numbers[:2].tolist()
        lengths, labels, ids = np.split(numbers[2:], [texts, texts + labelled])
        return cls(ids, lengths, labels)

    def split(self, texts: Sequence[int], labels: Sequence[int]) -> Iterator[Chunk]:
        """Yield consecutive parts with the given numbers of texts and labels."""
        lengths = np.split(self.lengths, np.cumsum(texts)[:-1])
        ids = np.split(self.ids, np.cumsum([part.sum() for part in lengths])[:-1])
        return map(Chunk, ids, lengths, np.split(self.labels, np.cumsum(labels)[:-1]))


def write_chunks(path: str | os.PathLike[str], chunks: Iterable[Chunk]) -> None:
    """Write a shard, which is a file of chunks. After a crash, no file has this name."""
    module = _module()
    with complete_file(path) as unfinished, _os_errors():
        writer = module.ArrayRecordWriter(os.fspath(unfinished), OPTIONS)
        try:
            for chunk in chunks:
                writer.write(chunk.to_bytes())
        finally:
            writer.close()


@contextlib.contextmanager
def _os_errors() -> Iterator[None]:
    """Raise OSError in place of the RuntimeError of the writer, such as that of a full disk."""
    try:
        yield
    except RuntimeError as error:
        code = next((code for code in DISK_IS_FULL if os.strerror(code) in str(error)), errno.EIO)
        raise OSError(code, str(error)) from error


class Shard:
    """Reads chunks of a shard by their numbers.

    Args:
        path: The file.
        chunks: The number of chunks that the file must have.

    Raises:
        DataError: If the file is damaged or has a different number of chunks, for example because it was truncated.
        FileNotFoundError: If the file does not exist.
    """

    def __init__(self, path: str | os.PathLike[str], chunks: int):
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"{self.path} does not exist: {_ADVICE}.")
        with self._damage_named():
            self._reader: Any = _module().ArrayRecordReader(os.fspath(path))
            found = self._reader.num_records()
        if found != chunks:
            raise DataError(self.path, 1, f"expected {chunks} records, found {found}: {_ADVICE}")

    def read(self, numbers: Sequence[int]) -> list[Chunk]:
        """The chunks with these numbers."""
        with self._damage_named():
            return [Chunk.from_bytes(data) for data in self._reader.read(list(numbers))]

    @contextlib.contextmanager
    def _damage_named(self) -> Iterator[None]:
        """Name the file if a record does not have its checksum."""
        try:
            yield
        except RuntimeError as error:
            raise DataError(self.path, 1, f"the file is damaged ({error}): {_ADVICE}") from error


def _module() -> Any:
    return require("array_record.python.array_record_module", "stream")
