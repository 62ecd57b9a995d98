"""Prepares a corpus in three steps: drafts of the shards, the vocabulary, the final shards."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from keras_slstm.datasets.records import PathLike, no_example
from keras_slstm.errors import DataError
from keras_slstm.streaming.drafts import Drafts, finish, write_drafts
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.streaming.shard_folders import MANIFEST, check_owner, new_shards, write_manifest
from keras_slstm.streaming.sources import Source, with_scheme
from keras_slstm.streaming.word_sketch import WordSketch
from keras_slstm.text.tag_schemes import scheme_labels
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.vocabulary import Vocabulary
from keras_slstm.training.fingerprint import fingerprint
from keras_slstm.validation import check_integer

FORMAT = "3"  # version of the format of shards and manifest
# The arguments of a vectoriser that affect the ids.
_TEXT_SETTINGS = ("max_tokens", "min_count", "lowercase", "tokenizer", "max_length", "split_words")
_SENTENCE_SETTINGS = ("max_tokens", "min_count", "lowercase", "zero_digits", "max_characters")

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # `map`, or the same in several processes


def prepare(
    sources: list[Source],
    folder: PathLike,
    vectorizer: TextVectorizer | TokenVectorizer,
    labels: Sequence[str] | None = None,
    max_words: int = 2_000_000,
    processes: int = 1,
    overwrite: bool = False,
) -> PreparedCorpus:
    """Prepare the examples of sources of the same kind; see `prepare_corpus`."""
    check_integer("processes", processes, 1)
    if vectorizer.max_characters is not None:
        raise ValueError("A prepared corpus stores no characters: create the vectoriser with `max_characters=None`.")
    config, kind = _plain_config(vectorizer), sources[0].kind
    known = _fingerprint(sources, config, vectorizer.vocabulary, labels, max_words)
    folder = Path(folder)
    found = _find(folder, overwrite)
    if found is not None and found.fingerprint == known:
        return found
    if found is not None and not overwrite:
        raise ValueError(
            f"{folder} contains a corpus of other files or settings, or the files have changed since: use another "
            "folder, or prepare the corpus again (overwrite=True)."
        )
    del found  # it protects its shards from deletion
    check_owner(folder)
    sources = with_scheme(sources)
    each = -(-processes // len(sources))
    parts = [(number, source, part, each) for number, source in enumerate(sources) for part in range(each)]
    with new_shards(folder) as shards:
        with _mapping(processes) as run:
            drafts = list(run(partial(write_drafts, config, max_words, labels, shards), parts))
            # In the order of the files, regardless of the number of processes.
            places = sorted(place for draft in drafts for place in draft.places)
            for number in {*range(len(sources))} - {place[0] for place in places}:
                raise no_example(sources[number].name)
            names = _label_names(drafts, sources[0].scheme) if labels is None else list(labels)
            words = vectorizer.vocabulary[2:] or _learn(vectorizer, drafts, max_words)
            labels_of_drafts = [
                (name, draft.labels) for draft in drafts for name in dict.fromkeys(place[3] for place in draft.places)
            ]
            complete = partial(finish, kind, config, words, names, shards)
            for _ in run(complete, [labels_of_drafts[part::processes] for part in range(processes)]):
                pass
        names_of_shards = sorted({place[3] for place in places})
        numbers = {name: number for number, name in enumerate(names_of_shards)}
        manifest = {
            "fingerprint": known,
            "kind": kind,
            "scheme": sources[0].scheme,
            "labels": names,
            "vectorizer": config,
            "vocabulary": words,
            "shards": [f"{shards.name}/{name}" for name in names_of_shards],
            "chunks": [[numbers[name], record, examples] for _, _, examples, name, record in places],
            "lengths": sorted(sum((draft.lengths for draft in drafts), Counter()).items()),
        }
        write_manifest(shards, manifest)
        return PreparedCorpus(folder, manifest)  # not what another process may have written in the meantime


def _find(folder: Path, overwrite: bool) -> PreparedCorpus | None:
    """The corpus in a folder, or None. A damaged one, or one of an older version, can only be overwritten."""
    if not (folder / MANIFEST).is_file():
        return None
    try:
        return PreparedCorpus(folder)
    except DataError:
        if not overwrite:
            raise
        return None


def _fingerprint(
    sources: list[Source],
    config: dict[str, Any],
    vocabulary: list[str],
    labels: Sequence[str] | None,
    max_words: int,
) -> str:
    states = [text for source in sources for text in source.state()]
    names = [] if labels is None else ["labels", *labels]
    return fingerprint([FORMAT, json.dumps(config, sort_keys=True), str(max_words)], states, names, vocabulary)


def _plain_config(vectorizer: TextVectorizer | TokenVectorizer) -> dict[str, Any]:
    """The settings that affect ids. `get_config` would make Keras import TensorFlow on every backend."""
    if isinstance(vectorizer, TokenVectorizer):
        return {name: getattr(vectorizer, name) for name in _SENTENCE_SETTINGS}
    # None leaves the choice to `adapt`, which needs word vectors to make it; there are none here, so no word is split.
    return {name: getattr(vectorizer, name) for name in _TEXT_SETTINGS} | {"split_words": bool(vectorizer.split_words)}


@contextlib.contextmanager
def _mapping(processes: int) -> Iterator[Run]:
    """Yield a `map` that uses this many processes."""
    if processes == 1:
        yield map
        return
    # Not "fork", which can deadlock with the threads of TensorFlow and JAX.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield pool.map


def _label_names(drafts: list[Drafts], scheme: str | None) -> list[str]:
    """The labels in the drafts, sorted; with a scheme, all tags of the scheme for the span types in the drafts."""
    names = {name for draft in drafts for name in draft.labels}
    return sorted(names) if scheme is None else scheme_labels({name[2:] for name in names - {"O"}}, scheme)


def _learn(vectorizer: TextVectorizer | TokenVectorizer, drafts: list[Drafts], max_words: int) -> list[str]:
    """Learn the vocabulary from the drafts, and return its words."""
    counts = WordSketch(max_words)
    for draft in drafts:
        counts.merge(draft.words)
    vocabulary = Vocabulary()
    vocabulary.learn(counts.counts, vectorizer.min_count, vectorizer.max_tokens)
    return vocabulary.words
