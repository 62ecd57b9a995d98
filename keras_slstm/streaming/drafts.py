"""Drafts of shards: texts whose words are numbered before the vocabulary is known.

A draft numbers its own words. So the texts are cut into words once only: when all words are counted, `finish` replaces
the numbers of each draft by the ids of the vocabulary.
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
from keras_slstm.streaming.block_tokens import BlockTokenizer, EncodedTexts, SentenceNumbers
from keras_slstm.streaming.chunks import Chunk, write_chunks
from keras_slstm.streaming.sources import Block, Kind, Source
from keras_slstm.streaming.word_sketch import WordSketch
from keras_slstm.suggestions import did_you_mean, list_names
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.token_vectorizer import TokenVectorizer
from keras_slstm.text.vocabulary import UNKNOWN_ID

# A shard is tokenised at once, which looks a word up once for all its texts. It has at most so many blocks, and ends
# with the block that reaches so many characters.
SHARD_BLOCKS, SHARD_CHARACTERS = 128, 16_000_000
MOST_LABELS = 10_000
DRAFT = "draft-"  # how the names of drafts begin

Part = tuple[int, Source, int, int]  # number of the source, the source, part, parts
# For each chunk: the numbers of its source and block, the number of its examples, its shard, its number there.
Place = tuple[int, int, int, str, int]


class Drafts(NamedTuple):
    """The drafts of a part of the texts.

    Attributes:
        words: How often each word occurs.
        labels: The label names, by the numbers that the drafts give them.
        places: Where the chunks are.
        lengths: How many examples have each length, that of the longer text of a pair.
    """

    words: WordSketch
    labels: list[str]
    places: list[Place]
    lengths: Counter[int]


def make_vectorizer(kind: Kind, config: Mapping[str, Any]) -> TextVectorizer | TokenVectorizer:
    """The vectoriser of a kind of examples, with these arguments."""
    return TokenVectorizer(**config) if kind == "sentences" else TextVectorizer(**config)


def texts_of_one(kind: Kind) -> int:
    """The number of texts of an example."""
    return 2 if kind == "pairs" else 1


def write_drafts(
    config: Mapping[str, Any], max_words: int, labels: Sequence[str] | None, folder: Path, part: Part
) -> Drafts:
    """Write the drafts of a part.

    Args:
        config: The settings of the vectoriser.
        max_words: The largest number of words to count.
        labels: The label names, or None for those that occur.
        folder: The folder of the shards.
        part: The part.
    """
    source_number, source, rest, parts = part
    vectorizer, width = make_vectorizer(source.kind, config), texts_of_one(source.kind)
    numbers = SentenceNumbers(vectorizer) if isinstance(vectorizer, TokenVectorizer) else BlockTokenizer(vectorizer)
    sketch, known = WordSketch(max_words), _Labels(source, labels)
    places: list[Place] = []
    lengths: Counter[int] = Counter()
    for shard, (blocks, encoded) in enumerate(_encoded(numbers, _shards(source.blocks(rest, parts)))):
        name = f"{source_number:05}-{rest:03}-{shard:05}.array_record"
        np.savez(
            folder / f"{DRAFT}{name}.npz",
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
    """Write shards from their drafts, and delete the drafts.

    Args:
        kind: The kind of the examples.
        config: The settings of the vectoriser.
        vocabulary: The words of the vocabulary, from id 2 on.
        labels: The label names, by id.
        folder: The folder of the shards.
        drafts: The name of each shard, and the label names by their numbers in its draft.
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
    """The blocks of each shard."""
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
    numbers: BlockTokenizer | SentenceNumbers, shards: Iterable[list[Block]]
) -> Iterator[tuple[list[Block], EncodedTexts]]:
    """Yield shards with their encoded texts. Meanwhile a thread encodes the next one, mostly in compiled functions."""
    before: tuple[list[Block], Future[EncodedTexts]] | None = None
    with ThreadPoolExecutor(max_workers=1) as thread:
        for shard in shards:
            future = thread.submit(numbers.encode, [text for block in shard for text in block.texts])
            if before is not None:
                yield before[0], before[1].result()
            before = shard, future
        if before is not None:
            yield before[0], before[1].result()


class _Labels:
    """Numbers of label names: those of a given list, or in the order of their first occurrence."""

    def __init__(self, source: Source, labels: Sequence[str] | None):
        self.source = source
        self.names = [] if labels is None else list(labels)
        self._ids = {name: number for number, name in enumerate(self.names)}
        self._fixed = labels is not None

    def ids(self, block: Block) -> np.ndarray:
        """The numbers of the labels of a block."""
        if not self._ids.keys() >= set(block.labels):
            self._add(block)
        return np.array([self._ids[name] for name in block.labels], np.int32)

    def _add(self, block: Block) -> None:
        for place, name in enumerate(block.labels):
            if name in self._ids:
                continue
            if self._fixed:
                known = f"the labels: {list_names(self.names)}.{did_you_mean(name, self.names)}"
                problem = f"unknown label {name!r}; {known}"
                if block.lines:
                    raise DataError(self.source.name, block.lines[place], problem)
                raise ValueError(f"{self.source.name}: {problem}")
            self._ids[name] = len(self.names)
            self.names.append(name)
        if len(self.names) > MOST_LABELS:
            raise ValueError(
                f"{self.source.name} has more than {MOST_LABELS} labels: is this the column of the labels?"
            )
