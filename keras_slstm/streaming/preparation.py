"""Prepares a corpus: one pass that counts words, and one that stores the texts as word ids."""

from __future__ import annotations

import contextlib
import itertools
import json
import multiprocessing
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from keras_slstm.datasets.records import OnError, PathLike
from keras_slstm.errors import DataError
from keras_slstm.files import write_json
from keras_slstm.streaming.block_tokens import END, BlockTokenizer
from keras_slstm.streaming.chunks import Chunk, write_chunks
from keras_slstm.streaming.prepared_corpus import MANIFEST, PreparedCorpus
from keras_slstm.streaming.sources import Block, Source, make_sources
from keras_slstm.streaming.word_sketch import WordSketch
from keras_slstm.suggestions import did_you_mean, list_names
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.validation import check_integer

FORMAT = "1"  # of the shards and the manifest
SHARD_CHUNKS = 256  # chunks in a shard
MOST_LABELS = 10_000
_OWN_FOLDER = re.compile(r"shards-[0-9a-f]{8}")
_OWN_FILE = re.compile(r"(unfinished-\d+-)?\d+-\d+-\d+\.array_record")
SETTINGS = ("max_tokens", "min_count", "lowercase", "tokenizer", "max_length", "split_words")  # of the vectoriser

Part = tuple[int, Source, int, int]  # number of the source, the source, part, parts
Run = Callable[[Callable[[Part], Any], list[Part]], Iterable[Any]]  # `map`, perhaps in several processes
# For each chunk: the numbers of its source and block, the number of its texts, its shard, its number there.
Place = tuple[int, int, int, str, int]


def prepare_corpus(
    files: PathLike | list[PathLike] | tuple[PathLike, ...],
    folder: PathLike,
    vectorizer: TextVectorizer | None = None,
    labels: Sequence[str] | None = None,
    *,
    text_column: str = "text",
    label_column: str = "label",
    on_error: OnError = "raise",
    data_dir: str | None = None,
    max_words: int = 4_000_000,
    processes: int = 1,
    overwrite: bool = False,
) -> PreparedCorpus:
    """Prepare labelled texts of any size for training: store them in a folder as word ids.

    The files are read twice, with constant memory: to count words and labels, and to store the ids. The folder gets a
    fingerprint of files and settings. With the same ones, the next call returns at once. A preparation that was
    interrupted counts for nothing.

    Args:
        files: One or more files: tables and JSON lines as `read_labelled_text` reads them (plain, `.gz`, `.zst`) and
            Parquet; or TFDS splits, as `"tfds:ag_news_subset/train"`.
        folder: Where to keep the prepared corpus.
        vectorizer: The settings of the vocabulary. If it has one already, such as that of the training part, that is
            used, and the files are read once. None: `TextVectorizer()`.
        labels: The label names in the order of their ids, such as those of the training part. None: those of the
            files, sorted.
        text_column, label_column: Names of the columns, keys or TFDS features.
        on_error: `"raise"` stops at the first malformed line, `"skip"` leaves such lines out with a warning.
        data_dir: Where TFDS keeps its data.
        max_words: The largest number of different words to count. From there on, counts of rare words are bounds; see
            `WordSketch`.
        processes: Number of processes that read. One that starts loads Keras first, which pays for a few million texts.
        overwrite: Whether to replace a corpus of other files or settings in `folder`.

    Raises:
        DataError: If a file is malformed or has a label that is not in `labels`.
        FileExistsError: If `folder` holds files of another kind. They stay as they are.
        FileNotFoundError: If a file does not exist.
        ImportError: If the extra `stream` is not installed.
        ValueError: If `folder` holds a corpus of other files or settings, or an argument is wrong.

    Example:

    ```python
    train = keras_slstm.streaming.prepare_corpus("reviews.tsv", "prepared/reviews")
    model = keras_slstm.SentenceClassifier(train.labels, vectorizer=train.vectorizer)
    model.compile("adam")
    model.fit(keras_slstm.streaming.StreamedBatches(train))
    ```
    """
    check_integer("processes", processes, 1)
    vectorizer = TextVectorizer() if vectorizer is None else vectorizer
    if vectorizer.max_characters is not None:
        raise ValueError("A prepared corpus has no characters: leave `max_characters` of the vectoriser out.")
    settings = {"text_column": text_column, "label_column": label_column, "on_error": on_error, "data_dir": data_dir}
    sources = make_sources(files, **settings)
    known = _fingerprint(sources, vectorizer, labels, max_words)
    folder = Path(folder)
    if (folder / MANIFEST).is_file():
        found = PreparedCorpus(folder)
        if found.fingerprint == known:
            return found
        if not overwrite:
            raise ValueError(
                f"{folder} holds a corpus of other files or settings, or of files that have changed since: choose "
                "another folder, or prepare it again (overwrite=True)."
            )
    former = _own_folders(folder)
    shards = folder / f"shards-{uuid.uuid4().hex[:8]}"
    shards.mkdir(parents=True)
    each = -(-processes // len(sources))
    parts = [(number, source, part, each) for number, source in enumerate(sources) for part in range(each)]
    with _mapping(processes) as run:
        vectorizer, names = _learn(run, parts, vectorizer, labels, max_words)
        store = partial(_store, _plain_config(vectorizer), vectorizer.vocabulary[2:], names, shards)
        places = [place for found in run(store, parts) for place in found]
    # In the order of the files, whatever the number of processes.
    names_of_shards = sorted({place[3] for place in places})
    numbers = {name: number for number, name in enumerate(names_of_shards)}
    chunks = [[numbers[name], record, texts] for _, _, texts, name, record in sorted(places)]
    write_json(
        folder / MANIFEST,
        {
            "fingerprint": known,
            "labels": list(names),
            "vectorizer": _plain_config(vectorizer),
            "vocabulary": vectorizer.vocabulary[2:],
            "shards": [f"{shards.name}/{name}" for name in names_of_shards],
            "chunks": chunks,
        },
    )
    for old in former:  # of another corpus, or of an interrupted preparation; now that the new one is complete
        shutil.rmtree(old)
    return PreparedCorpus(folder)


def _own_folders(folder: Path) -> list[Path]:
    """The folders of shards of former preparations.

    Raises:
        FileExistsError: If anything else is in the folder.
    """
    own, other = [], []
    for path in sorted(folder.iterdir()) if folder.exists() else []:
        if _OWN_FOLDER.fullmatch(path.name) and all(_OWN_FILE.fullmatch(file.name) for file in path.iterdir()):
            own.append(path)
        elif path.name != MANIFEST:
            other.append(path.name)
    if other:
        raise FileExistsError(
            f"{folder} is not empty, and not the folder of a prepared corpus: {', '.join(other[:5])} would be in the "
            "way. Choose another folder."
        )
    return own


def _fingerprint(
    sources: list[Source], vectorizer: TextVectorizer, labels: Sequence[str] | None, max_words: int
) -> str:
    settings = json.dumps(_plain_config(vectorizer), sort_keys=True)
    states = [text for source in sources for text in source.state()]
    names = [] if labels is None else ["labels", *labels]
    return fingerprint([FORMAT, settings, str(max_words)], states, names, vectorizer.vocabulary)


def _plain_config(vectorizer: TextVectorizer) -> dict[str, Any]:
    """The settings that decide about ids. Not by `get_config`: there Keras loads TensorFlow on every backend."""
    return {name: getattr(vectorizer, name) for name in SETTINGS}


@contextlib.contextmanager
def _mapping(processes: int) -> Iterator[Run]:
    """A `map` in so many processes."""
    if processes == 1:
        yield map
        return
    # Not forked: that deadlocks beside the threads of TensorFlow and JAX.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield pool.map


def _learn(
    run: Run,
    parts: list[Part],
    vectorizer: TextVectorizer,
    labels: Sequence[str] | None,
    max_words: int,
) -> tuple[TextVectorizer, list[str]]:
    """The vectoriser with its vocabulary, and the label names."""
    if vectorizer.is_adapted and labels is not None:
        return vectorizer, list(labels)
    counts = WordSketch(max_words)
    names: set[str] = set()
    for sketch, found in run(partial(_count, _plain_config(vectorizer), max_words), parts):
        counts.merge(sketch)
        names |= found
    if not vectorizer.is_adapted:
        # Without word vectors no word is split, so `adapt` need not try.
        vectorizer = TextVectorizer(**_plain_config(vectorizer) | {"split_words": bool(vectorizer.split_words)})
        vectorizer.adapt(counts.counts)
    return vectorizer, sorted(names) if labels is None else list(labels)


def _count(config: dict[str, Any], max_words: int, part: Part) -> tuple[WordSketch, set[str]]:
    """The words and labels of a part."""
    _, source, number, parts = part
    tokenizer = BlockTokenizer(TextVectorizer(**config))
    sketch = WordSketch(max_words)
    names: set[str] = set()
    for _, _, texts, labels in source.blocks(number, parts):
        sketch.update(tokenizer.tokens(texts))
        names.update(labels)
        if len(names) > MOST_LABELS:
            raise ValueError(f"{source.name} has more than {MOST_LABELS} labels: is this the column of the labels?")
    del sketch.counts[END]
    return sketch, names


def _store(config: dict[str, Any], words: list[str], labels: list[str], folder: Path, part: Part) -> list[Place]:
    """Write the shards of a part; return where its chunks are."""
    number, source, rest, parts = part
    vectorizer = TextVectorizer(**config)
    vectorizer.set_vocabulary(words)
    tokenizer, ids = BlockTokenizer(vectorizer), {name: i for i, name in enumerate(labels)}
    places: list[Place] = []
    blocks = source.blocks(rest, parts)
    for shard, first in enumerate(blocks):
        name = f"{number:05}-{rest:03}-{shard:05}.array_record"

        def chunks(name: str = name, first: Block = first) -> Iterator[Chunk]:
            shard_blocks = itertools.chain([first], itertools.islice(blocks, SHARD_CHUNKS - 1))
            for record, (block, lines, texts, names) in enumerate(shard_blocks):
                places.append((number, block, len(texts), name, record))
                encoded = tokenizer.encode(texts)
                yield Chunk(encoded.ids, encoded.lengths, _label_ids(source, ids, lines, names))

        write_chunks(folder / name, chunks())
    return places


def _label_ids(source: Source, ids: dict[str, int], lines: list[int], names: list[str]) -> np.ndarray:
    try:
        return np.array([ids[name] for name in names], np.int32)
    except KeyError:
        line, name = next((line, name) for line, name in zip(lines, names) if name not in ids)
        raise DataError(
            source.name, line, f"unknown label {name!r}; the labels: {list_names(list(ids))}.{did_you_mean(name, ids)}"
        ) from None
