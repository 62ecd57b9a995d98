"""Corpora of any size: texts from files, prepared once on disk, read again in batches with constant memory.

`prepare_corpus` cuts the texts into words once. A `Source` yields blocks of texts, a `BlockTokenizer` cuts a block at
once, and drafts of the shards keep its words as numbers in the order of their first occurrence. A `WordSketch` counts
all words in bounded memory; then the numbers become the ids of the vocabulary, in shards of the ArrayRecord format. The
manifest of the folder is written last, with a fingerprint of files and settings: without it nothing counts, and with
the same fingerprint nothing is read again.

`StreamedBatches` reads chunks in a seeded random order, a window at a time. Batch i of an epoch is a function of the
seed, the epoch and i, so resuming needs no other state.
"""

from keras_slstm.streaming.batches import StreamedBatches
from keras_slstm.streaming.block_tokens import BlockTokenizer
from keras_slstm.streaming.preparation import prepare_corpus
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.streaming.word_sketch import WordSketch

__all__ = ["BlockTokenizer", "PreparedCorpus", "StreamedBatches", "WordSketch", "prepare_corpus"]
