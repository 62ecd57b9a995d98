"""Prepares a corpus: drafts of its shards, the vocabulary of their words, and the shards."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from keras_slstm.datasets.records import OnError, PathLike
from keras_slstm.files import write_json
from keras_slstm.streaming.drafts import Drafts, finish, write_drafts
from keras_slstm.streaming.prepared_corpus import MANIFEST, PreparedCorpus
from keras_slstm.streaming.sources import Source, make_sources
from keras_slstm.streaming.word_sketch import WordSketch
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.validation import check_integer

FORMAT = "2"  # of the shards and the manifest
_OWN_FOLDER = re.compile(r"shards-[0-9a-f]{8}")
_OWN_FILE = re.compile(r"(unfinished-\d+-)?(draft-)?\d+-\d+-\d+\.(array_record|words)")
SETTINGS = ("max_tokens", "min_count", "lowercase", "tokenizer", "max_length", "split_words")  # of the vectoriser

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # `map`, perhaps in several processes


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

    The files are read once, with constant memory: drafts of the shards number the words of their texts as they come,
    and when all words are counted, the numbers are replaced by the ids of the vocabulary. The folder gets a fingerprint
    of files and settings. With the same ones, the next call returns at once. A preparation that was interrupted counts
    for nothing.

    Args:
        files: One or more files: tables and JSON lines as `read_labelled_text` reads them (plain, `.gz`, `.zst`) and
            Parquet; or TFDS splits, as `"tfds:ag_news_subset/train"`.
        folder: Where to keep the prepared corpus.
        vectorizer: The settings of the vocabulary. If it has one already, such as that of the training part, that is
            used. None: `TextVectorizer()`.
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
        drafts = list(run(partial(write_drafts, _plain_config(vectorizer), max_words, labels, shards), parts))
        names = sorted({name for draft in drafts for name in draft.labels}) if labels is None else list(labels)
        if not vectorizer.is_adapted:
            vectorizer = _adapted(vectorizer, drafts, max_words)
        complete = partial(finish, vectorizer.vocabulary, names, shards)
        for _ in run(complete, _shards(drafts)):
            pass
    # In the order of the files, whatever the number of processes.
    places = [place for draft in drafts for place in draft.places]
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
            "lengths": sorted(sum((draft.lengths for draft in drafts), Counter()).items()),
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


def _adapted(vectorizer: TextVectorizer, drafts: list[Drafts], max_words: int) -> TextVectorizer:
    """A vectoriser with the vocabulary of the drafts."""
    counts = WordSketch(max_words)
    for draft in drafts:
        counts.merge(draft.words)
    # Without word vectors no word is split, so `adapt` need not try.
    adapted = TextVectorizer(**_plain_config(vectorizer) | {"split_words": bool(vectorizer.split_words)})
    adapted.adapt(counts.counts)
    return adapted


def _shards(drafts: list[Drafts]) -> Iterator[tuple[str, int, list[str]]]:
    """The name of each shard, the number of its chunks, and the label names of its draft."""
    for draft in drafts:
        for name, chunks in Counter(place[3] for place in draft.places).items():
            yield name, chunks, draft.labels
