"""Reads a prepared corpus from its folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from keras_slstm.datasets.records import PathLike
from keras_slstm.errors import DataError
from keras_slstm.files import read_json
from keras_slstm.streaming.chunks import Chunk, Shard
from keras_slstm.streaming.drafts import make_vectorizer, texts_per_example
from keras_slstm.streaming.sources import Kind

MANIFEST = "corpus.json"  # written last: a folder without it contains no corpus
OPEN_SHARDS = 32  # maximum number of open files


class PreparedCorpus:
    """A corpus that `prepare_corpus`, `prepare_pairs` or `prepare_sentences` stored in a folder.

    Args:
        folder: The folder.

    Attributes:
        kind: The kind of the examples: `"texts"`, `"pairs"` or `"sentences"`.
        labels: The label names in the order of their ids.
        scheme: The scheme of tags that mark spans; None for other labels.
        vectorizer: The `TextVectorizer` (for sentences, the `TokenVectorizer`) with the vocabulary of the corpus.
        fingerprint: A short hash of the files and settings from which the corpus was prepared.
        texts_per_example: The number of texts in an example: 2 for pairs, otherwise 1.
        sizes: The number of examples in each chunk (array).
        lengths, length_counts: The lengths of examples in words, ascending, and the number of examples of each length
            (arrays). A pair has the length of its longer text.

    Raises:
        DataError: If the manifest is damaged.
        FileNotFoundError: If the folder contains no corpus.

    Example:

    ```python
    corpus = PreparedCorpus("prepared/reviews")
    print(len(corpus), corpus.labels, corpus.vectorizer.vocabulary_size)
    ```
    """

    def __init__(self, folder: PathLike):
        self.folder = Path(folder)
        path = self.folder / MANIFEST
        if not path.is_file():
            raise FileNotFoundError(f"{self.folder} contains no prepared corpus: call `prepare_corpus` first.")
        manifest = read_json(path)
        try:
            self.fingerprint = str(manifest["fingerprint"])
            self.labels: list[str] = manifest["labels"]
            self.kind: Kind = manifest["kind"]
            self.scheme: str | None = manifest["scheme"]
            self.vectorizer = make_vectorizer(self.kind, manifest["vectorizer"])
            self.vectorizer.set_vocabulary(manifest["vocabulary"])
            self._shards: list[str] = manifest["shards"]
            self._chunks = np.array(manifest["chunks"], dtype=np.int64).reshape(-1, 3)  # shard, record, examples
            self.lengths, self.length_counts = np.array(manifest["lengths"], dtype=np.int64).reshape(-1, 2).T
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(path, 1, f"not a manifest of a prepared corpus ({error!r})") from error
        self.texts_per_example = texts_per_example(self.kind)
        self.sizes = self._chunks[:, 2]
        self._records = np.bincount(self._chunks[:, 0], minlength=len(self._shards))
        self._shard = lru_cache(OPEN_SHARDS)(self._open)

    def __len__(self) -> int:
        """The number of examples."""
        return int(self.sizes.sum())

    def read(self, numbers: Any) -> list[Chunk]:
        """Read the chunks with these numbers, in the given order."""
        return [self._shard(int(shard)).read([int(record)])[0] for shard, record, _ in self._chunks[numbers]]

    def _open(self, number: int) -> Shard:
        return Shard(self.folder / self._shards[number], int(self._records[number]))
