"""Drafts of shards: texts whose words are numbered before the vocabulary is known.

A draft numbers its words in the order of their first occurrence. So the texts are cut into words once only: when all
words are counted, `finish` replaces the numbers of each draft by the ids of the vocabulary.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_slstm.errors import DataError
from keras_slstm.streaming.block_tokens import END, BlockTokenizer, NumberedWords
from keras_slstm.streaming.chunks import Chunk, Shard, write_chunks
from keras_slstm.streaming.sources import Block, Source
from keras_slstm.streaming.word_sketch import WordSketch
from keras_slstm.suggestions import did_you_mean, list_names
from keras_slstm.text.text_vectorizer import TextVectorizer
from keras_slstm.text.vocabulary import UNKNOWN_ID

SHARD_CHUNKS = 256  # chunks in a shard
MOST_LABELS = 10_000
DRAFT = "draft-"  # how the names of drafts begin

Part = tuple[int, Source, int, int]  # number of the source, the source, part, parts
# For each chunk: the numbers of its source and block, the number of its texts, its shard, its number there.
Place = tuple[int, int, int, str, int]


class Drafts(NamedTuple):
    """The drafts of a part of the texts.

    Attributes:
        words: How often each word occurs.
        labels: The label names, by the numbers that the drafts give them.
        places: Where the chunks are.
        lengths: How many texts have each length.
    """

    words: WordSketch
    labels: list[str]
    places: list[Place]
    lengths: Counter[int]


def write_drafts(
    config: Mapping[str, Any], max_words: int, labels: Sequence[str] | None, folder: Path, part: Part
) -> Drafts:
    """Write the drafts of a part.

    Args:
        config: The settings of the vectoriser.
        max_words: The largest number of words to count. A draft that has more ends.
        labels: The label names, or None for those that occur.
        folder: The folder of the shards.
        part: The part.
    """
    source_number, source, rest, parts = part
    tokenizer = BlockTokenizer(TextVectorizer(**config))
    sketch, known = WordSketch(max_words), _Labels(source, labels)
    places: list[Place] = []
    lengths: Counter[int] = Counter()
    blocks = source.blocks(rest, parts)
    for shard, first in enumerate(blocks):
        name = f"{source_number:05}-{rest:03}-{shard:05}"
        words = NumberedWords()

        def chunks(name: str = name, first: Block = first, words: NumberedWords = words) -> Iterator[Chunk]:
            shard_blocks = itertools.chain([first], itertools.islice(blocks, SHARD_CHUNKS - 1))
            for record, (block, lines, texts, names) in enumerate(shard_blocks):
                places.append((source_number, block, len(texts), f"{name}.array_record", record))
                encoded = tokenizer.encode(texts, words)
                lengths.update(encoded.lengths.tolist())
                yield Chunk(encoded.ids, encoded.lengths, known.ids(lines, names))
                if len(words) > max_words:
                    return

        write_chunks(folder / f"{DRAFT}{name}.array_record", chunks())
        (folder / f"{DRAFT}{name}.words").write_bytes(END.join(words.names).encode())
        sketch.add(dict(zip(words.names, words.counts)))
    return Drafts(sketch, known.names, places, lengths)


def finish(
    vocabulary: Sequence[str], labels: Sequence[str], folder: Path, draft: tuple[str, int, Sequence[str]]
) -> None:
    """Write a shard from its draft, and delete the draft.

    Args:
        vocabulary: The words of the vocabulary, by id.
        labels: The label names, by id.
        folder: The folder of the shards.
        draft: The name of the shard, the number of its chunks, and the label names by their numbers in the draft.
    """
    name, chunks, names = draft
    ids = {word: number for number, word in enumerate(vocabulary) if number > UNKNOWN_ID}
    file = folder / f"{DRAFT}{name}"
    words_file = file.with_suffix(".words")
    words = words_file.read_bytes().decode().split(END)
    first = NumberedWords.FIRST
    word_ids = np.fromiter(itertools.chain([UNKNOWN_ID] * first, map(ids.get, words, repeat(UNKNOWN_ID))), np.int32)
    label_ids = np.array([labels.index(label) for label in names], np.int32)
    shard = Shard(file, chunks)
    drafted = (shard.read([number])[0] for number in range(chunks))
    write_chunks(folder / name, (Chunk(word_ids[c.ids], c.lengths, label_ids[c.labels]) for c in drafted))
    file.unlink()
    words_file.unlink()


class _Labels:
    """Numbers of label names: those of a given list, or in the order of their first occurrence."""

    def __init__(self, source: Source, labels: Sequence[str] | None):
        self.source = source
        self.names = [] if labels is None else list(labels)
        self._ids = {name: number for number, name in enumerate(self.names)}
        self._fixed = labels is not None

    def ids(self, lines: Sequence[int], names: Sequence[str]) -> np.ndarray:
        """The numbers of the names in these lines."""
        if not self._ids.keys() >= set(names):
            self._add(lines, names)
        return np.array([self._ids[name] for name in names], np.int32)

    def _add(self, lines: Sequence[int], names: Sequence[str]) -> None:
        for line, name in zip(lines, names):
            if name in self._ids:
                continue
            if self._fixed:
                known = f"the labels: {list_names(self.names)}.{did_you_mean(name, self.names)}"
                raise DataError(self.source.name, line, f"unknown label {name!r}; {known}")
            self._ids[name] = len(self.names)
            self.names.append(name)
        if len(self.names) > MOST_LABELS:
            raise ValueError(
                f"{self.source.name} has more than {MOST_LABELS} labels: is this the column of the labels?"
            )
