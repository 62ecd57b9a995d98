"""Corpora of any size: texts from files, prepared once on disk, read again in batches with constant memory.

`prepare_corpus` reads the files twice: to count words (in bounded memory) and to store texts as word ids. A `Source`
yields blocks of texts, a `BlockTokenizer` cuts a block at once, a `WordSketch` counts, `write_chunks` stores encoded
blocks in shards of the ArrayRecord format. The manifest of the folder is written last, with a fingerprint of files and
settings: without it nothing counts, and with the same fingerprint nothing is read again.

`StreamedBatches` reads chunks in a seeded random order, a window at a time. Batch i of an epoch is a function of the
seed, the epoch and i, so resuming needs no other state.
"""

from keras_slstm.streaming.batches import StreamedBatches
from keras_slstm.streaming.block_tokens import BlockTokenizer
from keras_slstm.streaming.preparation import prepare_corpus
from keras_slstm.streaming.prepared_corpus import PreparedCorpus
from keras_slstm.streaming.word_sketch import WordSketch

__all__ = ["BlockTokenizer", "PreparedCorpus", "StreamedBatches", "WordSketch", "prepare_corpus"]
