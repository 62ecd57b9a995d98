"""Reads a prepared corpus from its folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from keras_slstm.datasets.records import PathLike
from keras_slstm.errors import DataError
from keras_slstm.streaming.chunks import Chunk, Shard
from keras_slstm.streaming.drafts import make_vectorizer, texts_per_example
from keras_slstm.streaming.shard_folders import MANIFEST, lock_shards, open_manifest
from keras_slstm.streaming.sources import Kind

OPEN_SHARDS = 32  # maximum number of open files
_ADVICE = "prepare the corpus again (overwrite=True)"


class PreparedCorpus:
    """A corpus that `prepare_corpus`, `prepare_pairs` or `prepare_sentences` stored in a folder.

    Other processes may replace the corpus in the folder. The replaced one remains on disk while this object lives.

    Args:
        folder: The folder.
        manifest: The contents of its manifest. None: read them.

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

    def __init__(self, folder: PathLike, manifest: dict[str, Any] | None = None):
        self.folder = Path(folder)
        path = self.folder / MANIFEST
        if not path.is_file():
            raise FileNotFoundError(f"{self.folder} contains no prepared corpus: call `prepare_corpus` first.")
        try:
            if manifest is None:
                manifest, self._lock = open_manifest(self.folder)
            else:
                self._lock = lock_shards(self.folder, manifest)
            self.fingerprint = str(manifest["fingerprint"])
            self.labels: list[str] = manifest["labels"]
            self.kind: Kind = manifest["kind"]
            self.scheme: str | None = manifest["scheme"]
            self.vectorizer = make_vectorizer(self.kind, manifest["vectorizer"])
            self.vectorizer.set_vocabulary(manifest["vocabulary"])
            shards = [self.folder / name for name in manifest["shards"]]
            self._chunks = np.array(manifest["chunks"], dtype=np.int64).reshape(-1, 3)  # shard, record, examples
            records = np.bincount(self._chunks[:, 0], minlength=len(shards)).tolist()
            self.lengths, self.length_counts = np.array(manifest["lengths"], dtype=np.int64).reshape(-1, 2).T
        except DataError as error:
            raise DataError(error.path, error.line, f"{error.problem}: {_ADVICE}") from error
        except (LookupError, OverflowError, TypeError, ValueError) as error:
            raise DataError(path, 1, f"not a manifest of a prepared corpus ({error!r}): {_ADVICE}") from error
        self.texts_per_example = texts_per_example(self.kind)
        self.sizes = self._chunks[:, 2]
        # Not a method: a reference to `self` would make a cycle, and delay the release of the lock.
        self._shard = lru_cache(OPEN_SHARDS)(lambda number: Shard(shards[number], records[number]))

    def __len__(self) -> int:
        """The number of examples."""
        return int(self.sizes.sum())

    def read(self, numbers: Any) -> list[Chunk]:
        """Read the chunks with these numbers, in the given order."""
        return [self._shard(int(shard)).read([int(record)])[0] for shard, record, _ in self._chunks[numbers]]
