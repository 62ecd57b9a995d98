"""Corpora of any size: examples from files, prepared once on disk, read again in batches with constant memory.

`prepare_corpus`, `prepare_pairs` and `prepare_sentences` cut texts into words once. A `Source` yields blocks of
examples, a `BlockTokenizer` cuts the texts of a shard at once, and a draft of the shard keeps numbers of its own words.
A `WordSketch` counts all words in bounded memory; then the numbers become the ids of the vocabulary, in shards of the
ArrayRecord format. The manifest of the folder is written last, with a fingerprint of files and settings: without it
nothing counts, and with the same fingerprint nothing is read again.

`StreamedBatches` reads chunks in a seeded random order, a window at a time. Batch i of an epoch is a function of the
seed, the epoch and i, so resuming needs no other state.
"""

from keras_slstm.streaming.batches import StreamedBatches
from keras_slstm.streaming.corpora import prepare_corpus, prepare_pairs, prepare_sentences
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.streaming.word_sketch import WordSketch

__all__ = [
    "PreparedCorpus",
    "StreamedBatches",
    "WordSketch",
    "prepare_corpus",
    "prepare_pairs",
    "prepare_sentences",
]
