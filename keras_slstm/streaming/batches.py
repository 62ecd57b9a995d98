"""Batches of a prepared corpus, with only two windows of it in memory."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from keras_slstm.streaming.chunks import Chunk
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.text.batches import vary_first_two
from keras_slstm.text.buckets import bucket_bounds
from keras_slstm.text.epochs import SeededEpochs
from keras_slstm.text.text_vectorizer import pad
from keras_slstm.text.token_batches import UNKNOWN_LABEL
from keras_slstm.validation import check_integer


class _Window(NamedTuple):
    chunk: Chunk
    starts: np.ndarray  # where the ids of each text begin
    padded: np.ndarray  # the padded length of each example
    batches: list[np.ndarray]  # the indices of the examples in each batch


class StreamedBatches(SeededEpochs):
    """Batches of examples of similar length from a prepared corpus, for `fit` and `evaluate` on every backend.

    The batches have the format of `TextBatches`, `PairBatches` or `TokenBatches`, depending on the kind of the corpus.

    Each epoch reads the chunks of the corpus (about a thousand examples each) in a random order, one window of batches
    at a time. The examples of a window are sorted by length and divided into batches, and the batches are shuffled.
    Meanwhile, a thread reads the next window. Batch i of an epoch depends only on `(seed, epoch, i)` and does not need
    the batches before it, so a run that resumes in the middle of an epoch (`TrainingRun.fit(save_every=...)`) gets the
    same batches as an uninterrupted one.

    The models of this package keep these batches in step with the epoch. With another model, call
    `fit(batches, shuffle=False, callbacks=[batches.follow_epochs()])`.

    Args:
        corpus: The corpus.
        batch_size: Examples per batch; one batch of the last window may be smaller.
        shuffle: Whether to shuffle as described above. Otherwise, the windows keep the order of the files, and each one
            is sorted from short to long examples, which suits `evaluate`.
        seed: Seed of the shuffling.
        multiple_of: Lengths are padded to a multiple of this number, because a model is compiled once for each length.
        max_lengths: The maximum number of different padded lengths, or None for no limit; see `Batches`.
        window: Batches per window. A larger window means less padding and better shuffling, but two windows are held
            in memory.
        share: `(index, count)`: read only the examples of worker `index`, counted from 0, out of `count` workers. All
            workers get the same number of examples; the remainder, fewer than `count`, is left out of an epoch.

    Attributes:
        waited: The total seconds spent in `batches[i]` so far, that is, the time that training waited for data.

    Raises:
        ValueError: If an argument is out of range.

    Example:

    ```python
    batches = StreamedBatches(keras_slstm.streaming.PreparedCorpus("prepared/reviews"), batch_size=64)
    model.fit(batches, epochs=2)
    ```
    """

    def __init__(
        self,
        corpus: PreparedCorpus,
        batch_size: int = 32,
        *,
        shuffle: bool = True,
        seed: int = 0,
        multiple_of: int = 8,
        max_lengths: int | None = 7,
        window: int = 512,
        share: tuple[int, int] = (0, 1),
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.corpus = corpus
        self.batch_size = check_integer("batch_size", batch_size, 1)
        self.shuffle = shuffle
        self.seed = seed
        self.multiple_of = check_integer("multiple_of", multiple_of, 1)
        self.max_lengths = None if max_lengths is None else check_integer("max_lengths", max_lengths, 1)
        self.window = check_integer("window", window, 2)
        index, workers = share
        if not 0 <= index < workers <= len(corpus):
            raise ValueError(
                f"`share` must be (index, count) with 0 <= index < count <= {len(corpus)}, the number of examples, "
                f"but got {share}."
            )
        self._examples = len(corpus) // workers
        self._first = index * self._examples
        self._bounds = self._padded_lengths()
        self.waited = 0.0
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="streamed-batches")
        self._lock = threading.Lock()
        self._loaded: dict[int, Future[_Window]] = {}
        self.begin_epoch(0)

    def __len__(self) -> int:
        return -(-self._examples // self.batch_size)

    def __getitem__(self, index: int) -> tuple[Any, np.ndarray]:
        if not 0 <= index < len(self):
            raise IndexError(f"There are {len(self)} batches, so there is no batch {index}.")
        began = time.perf_counter()
        number, place = divmod(index, self.window)
        window = self._get(number)
        chosen = window.batches[place]
        longest = int(window.padded[chosen].max())
        batch = self._collate(window, chosen, longest)
        self._shapes[index] = len(chosen), longest
        self.waited += time.perf_counter() - began
        return batch

    def _collate(self, window: _Window, chosen: np.ndarray, longest: int) -> tuple[Any, np.ndarray]:
        """The inputs and labels of some examples of a window, padded to `longest`."""
        ids, lengths, labels = window.chunk
        texts = (chosen[:, None] * self.corpus.texts_per_example + np.arange(self.corpus.texts_per_example)).ravel()
        places = [slice(start, start + length) for start, length in zip(window.starts[texts], lengths[texts])]

        def cut(numbers: np.ndarray) -> list[Any]:
            return [numbers[place] for place in places]

        words = pad(cut(ids), longest)
        if self.corpus.kind == "sentences":
            return {"words": words}, pad(cut(labels), longest, UNKNOWN_LABEL)
        return words.reshape(len(chosen), 2, -1) if self.corpus.kind == "pairs" else words, labels[chosen]

    def shape_of(self, index: int) -> tuple[int, int]:
        """The number of examples and the padded length of a batch that was already read in this epoch."""
        texts, length = self._shapes[index]
        return int(texts), int(length)

    def begin_epoch(self, epoch: int) -> None:
        chunks = np.arange(len(self.corpus.sizes))
        if self.shuffle:
            chunks = np.random.default_rng((self.seed, epoch)).permutation(chunks)
        with self._lock:
            self._epoch, self._chunks = epoch, chunks
            self._ends = np.cumsum(self.corpus.sizes[chunks])
            self._loaded = {}
            self._shapes = np.zeros((len(self), 2), np.int64)

    def _padded_lengths(self) -> np.ndarray:
        """The lengths to which batches are padded, ascending."""
        rounded = -(-self.corpus.lengths // self.multiple_of) * self.multiple_of
        lengths, position = np.unique(rounded, return_inverse=True)
        counts = np.bincount(position, self.corpus.length_counts)
        return bucket_bounds(lengths, counts, self.max_lengths or len(lengths))

    def _get(self, number: int) -> _Window:
        """A window, by its number. The next one is read in the background."""
        with self._lock:
            wanted = [each for each in (number, number + 1) if each * self.window < len(self)]
            self._loaded = {
                each: self._loaded.get(each) or self._reader.submit(self._load, self._epoch, each) for each in wanted
            }
            window = self._loaded[number]
        return window.result()

    def _load(self, epoch: int, number: int) -> _Window:
        start = number * self.window * self.batch_size
        count = min(self.window * self.batch_size, self._examples - start)
        start += self._first
        chunk = self._read(start, count)
        generator = np.random.default_rng((self.seed, epoch, start))
        order = generator.permutation(count) if self.shuffle else np.arange(count)
        lengths = chunk.lengths.reshape(count, -1).max(1)
        padded = self._bounds[np.searchsorted(self._bounds, lengths)]
        order = order[np.argsort(padded[order], kind="stable")]
        batches = np.split(order, range(self.batch_size, count, self.batch_size))
        if self.shuffle:
            batches = [batches[i] for i in generator.permutation(len(batches))]
        if number == 0:
            vary_first_two(batches, padded)
        return _Window(chunk, np.cumsum(chunk.lengths) - chunk.lengths, padded, batches)

    def _read(self, start: int, count: int) -> Chunk:
        """Read `count` examples from `start`, in the order of the epoch, as one chunk."""
        first, last = np.searchsorted(self._ends, [start, start + count - 1], side="right")
        chunks = self.corpus.read(self._chunks[first : last + 1])
        ids, lengths, labels = (np.concatenate(arrays) for arrays in zip(*chunks))
        skipped = start - int(self._ends[first] - self.corpus.sizes[self._chunks[first]])
        examples, width = slice(skipped, skipped + count), self.corpus.texts_per_example
        left_out = int(lengths[: skipped * width].sum())
        lengths = lengths[skipped * width : (skipped + count) * width]
        kept = slice(left_out, left_out + int(lengths.sum()))
        return Chunk(ids[kept], lengths, labels[kept if self.corpus.kind == "sentences" else examples])
