"""Reads files compressed with zstandard, and notices if their end is missing."""

from __future__ import annotations

import io
import os
from typing import Any

from keras_slstm.extras import require

CHUNK = 2**16


class ZstdReader(io.RawIOBase):
    """The decompressed bytes of a `.zst` file, which may have several frames.

    `zstandard.open` ends without an error where the file ends, even in the middle of a frame: half of a file, which an
    interrupted copy has left, would look complete.

    Args:
        path: The file.

    Raises:
        EOFError: While reading, if the file ends before its last frame does.
        ImportError: If `zstandard` is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._decompressor = require("zstandard", "stream").ZstdDecompressor()
        self._file = io.FileIO(path)
        self._frame: Any = None
        self._compressed = b""
        self._decompressed = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._decompressed:
            if not self._compressed and not (chunk := self._file.read(CHUNK)):
                if self._frame is not None:
                    raise EOFError("the file ended before the end of its compressed data")
                return 0
            self._decompressed = memoryview(self._decompress(self._compressed or chunk))
        size = min(len(buffer), len(self._decompressed))
        buffer[:size] = self._decompressed[:size]
        self._decompressed = self._decompressed[size:]
        return size

    def _decompress(self, compressed: bytes) -> bytes:
        """Decompress up to the end of the frame, and keep the rest."""
        self._frame = self._frame or self._decompressor.decompressobj()
        decompressed: bytes = self._frame.decompress(compressed)
        self._compressed = b""
        if self._frame.eof:
            self._compressed, self._frame = self._frame.unused_data, None
        return decompressed

    def close(self) -> None:
        self._file.close()
        super().close()
