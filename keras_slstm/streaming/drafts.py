"""Drafts of shards, written before the vocabulary is known.

Each draft has its own word list and stores texts as numbers in this list. Thus texts are tokenised only once: when all
words have been counted, `finish` replaces the numbers by the ids of the vocabulary.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_slstm.errors import DataError
from keras_slstm.files import full_disk_named
from keras_slstm.streaming.block_tokens import BlockTokenizer, EncodedTexts, SentenceEncoder
from keras_slstm.streaming.chunks import Chunk, write_chunks
from keras_slstm.streaming.sources import Block, Kind, Source
from keras_slstm.streaming.word_sketch import WordSketch
from keras_slstm.suggestions import did_you_mean, list_names
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.vocabulary import UNKNOWN_ID

# The texts of a shard are tokenised together, so that each distinct word is looked up once. A shard ends after this
# many blocks, or with the block that exceeds this many characters (of tagged sentences: words).
SHARD_BLOCKS, SHARD_CHARACTERS = 128, 16_000_000
MAX_LABELS = 10_000
DRAFT = "draft-"  # prefix of the file names of drafts

Part = tuple[int, Source, int, int]  # (number of the source, source, part, number of parts)
# Of a chunk: (number of its source, number of its block, number of examples, name of the shard, index in the shard)
Place = tuple[int, int, int, str, int]


class Drafts(NamedTuple):
    """The drafts of a part of a source.

    Attributes:
        words: The counts of the words.
        labels: The label names; the drafts store their indices in this list.
        places: The places of the chunks.
        lengths: The number of examples of each length. A pair has the length of its longer text.
    """

    words: WordSketch
    labels: list[str]
    places: list[Place]
    lengths: Counter[int]


def make_vectorizer(kind: Kind, config: Mapping[str, Any]) -> TextVectorizer | TokenVectorizer:
    """Return the vectoriser for a kind of examples."""
    return TokenVectorizer(**config) if kind == "sentences" else TextVectorizer(**config)


def texts_per_example(kind: Kind) -> int:
    """The number of texts in an example."""
    return 2 if kind == "pairs" else 1


def write_drafts(
    config: Mapping[str, Any], max_words: int, labels: Sequence[str] | None, folder: Path, part: Part
) -> Drafts:
    """Write the drafts of a part.

    Args:
        config: The arguments of the vectoriser.
        max_words: The maximum number of distinct words to count.
        labels: The label names. None: those in the source.
        folder: The folder of the shards.
        part: The part of a source.
    """
    source_number, source, rest, parts = part
    vectorizer, width = make_vectorizer(source.kind, config), texts_per_example(source.kind)
    encoder = SentenceEncoder(vectorizer) if isinstance(vectorizer, TokenVectorizer) else BlockTokenizer(vectorizer)
    sketch, known = WordSketch(max_words), _Labels(source, labels)
    places: list[Place] = []
    lengths: Counter[int] = Counter()
    for shard, (blocks, encoded) in enumerate(_encoded(encoder, _shards(source.blocks(rest, parts)))):
        name = f"{source_number:05}-{rest:03}-{shard:05}.array_record"
        draft = folder / f"{DRAFT}{name}.npz"
        with full_disk_named(draft):
            np.savez(
                draft,
                ids=encoded.ids,
                lengths=encoded.lengths,
                labels=np.concatenate([known.ids(block) for block in blocks]),
                words=np.frombuffer(json.dumps(encoded.words).encode(), np.uint8),
                texts=[len(block.texts) for block in blocks],
                labels_of_blocks=[len(block.labels) for block in blocks],
            )
        sketch.add(dict(zip(encoded.words, encoded.counts)))
        different, counts = np.unique(encoded.lengths.reshape(-1, width).max(1), return_counts=True)
        lengths.update(dict(zip(different.tolist(), counts.tolist())))
        for record, block in enumerate(blocks):
            places.append((source_number, block.number, len(block.texts) // width, name, record))
    return Drafts(sketch, known.names, places, lengths)


def finish(
    kind: Kind,
    config: Mapping[str, Any],
    vocabulary: Sequence[str],
    labels: Sequence[str],
    folder: Path,
    drafts: Iterable[tuple[str, Sequence[str]]],
) -> None:
    """Write the final shards, and delete their drafts.

    Args:
        kind: The kind of the examples.
        config: The arguments of the vectoriser.
        vocabulary: The words of the vocabulary, from id 2 on.
        labels: The label names in the order of their ids.
        folder: The folder of the shards.
        drafts: For each shard, its name and the label names of its draft.
    """
    vectorizer = make_vectorizer(kind, config)
    vectorizer.set_vocabulary(vocabulary)
    ids_of_labels = {label: number for number, label in enumerate(labels)}
    for name, names in drafts:
        file = folder / f"{DRAFT}{name}.npz"
        with np.load(file) as draft:
            words = json.loads(draft["words"].tobytes())
            word_ids = np.array([UNKNOWN_ID, *vectorizer.word_ids(words)], np.int32)
            label_ids = np.array([ids_of_labels[each] for each in names], np.int32)
            shard = Chunk(word_ids[draft["ids"]], draft["lengths"], label_ids[draft["labels"]])
            write_chunks(folder / name, shard.split(draft["texts"], draft["labels_of_blocks"]))
        file.unlink()


def _shards(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield the blocks of each shard."""
    shard: list[Block] = []
    characters = 0
    for block in blocks:
        shard.append(block)
        characters += sum(map(len, block.texts))
        if len(shard) == SHARD_BLOCKS or characters > SHARD_CHARACTERS:
            yield shard
            shard, characters = [], 0
    if shard:
        yield shard


def _encoded(
    encoder: BlockTokenizer | SentenceEncoder, shards: Iterable[list[Block]]
) -> Iterator[tuple[list[Block], EncodedTexts]]:
    """Yield shards with their encoded texts. Meanwhile, a thread encodes the next shard, mostly in compiled code."""
    before: tuple[list[Block], Future[EncodedTexts]] | None = None
    with ThreadPoolExecutor(max_workers=1) as thread:
        for shard in shards:
            future = thread.submit(encoder.encode, [text for block in shard for text in block.texts])
            if before is not None:
                yield before[0], before[1].result()
            before = shard, future
        if before is not None:
            yield before[0], before[1].result()


class _Labels:
    """Numbers label names, by a given list or by their first occurrence."""

    def __init__(self, source: Source, labels: Sequence[str] | None):
        self.source = source
        self.names = [] if labels is None else list(labels)
        self._ids = {name: number for number, name in enumerate(self.names)}
        self._fixed = labels is not None

    def ids(self, block: Block) -> np.ndarray:
        """The label numbers of a block."""
        if not self._ids.keys() >= set(block.labels):
            self._add(block)
        return np.array([self._ids[name] for name in block.labels], np.int32)

    def _add(self, block: Block) -> None:
        for place, name in enumerate(block.labels):
            if name in self._ids:
                continue
            if self._fixed:
                known = f"known labels: {list_names(self.names)}.{did_you_mean(name, self.names)}"
                problem = f"unknown label {name!r}; {known}"
                if block.lines:
                    raise DataError(self.source.name, block.lines[place], problem)
                raise ValueError(f"{self.source.name}: {problem}")
            self._ids[name] = len(self.names)
            self.names.append(name)
        if len(self.names) > MAX_LABELS:
            raise ValueError(
                f"{self.source.name} has more than {MAX_LABELS:,} labels: check that the label column is the right one."
            )
